// What dpdk_forward found, as people read it: the text of bench/report/forward.md.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace cw::bench {

/// Markdown of the report that dpdk_forward prints with --json. Parts that were not measured are
/// left out.
std::string forward_report(const nlohmann::json& report);

}  // namespace cw::bench
