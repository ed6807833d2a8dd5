// What dpdk_forward found, as people read it: the text of bench/report/forward.md.
#pragma once

#include <string>

#include "control/json/json.h"

namespace cw::bench {

/// Markdown of the report that dpdk_forward prints with --json. Parts that were not measured are
/// left out.
std::string forward_report(const Json& report);

}  // namespace cw::bench
