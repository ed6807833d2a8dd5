// A group's members as processes of causeway-perf, wherever each is started.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "control/json/json.h"
#include "tests/lab/program.h"

namespace cw::bench {

/// Starts the process of a rank; it ends by itself.
using StartMember =
    std::function<std::unique_ptr<lab::Program>(uint32_t rank, const lab::Arguments& arguments)>;

/// Runs what `common` says at each of `members`, to the end; what rank 0 reports. Throws what any
/// of them says that fails.
Json run_members(const lab::Arguments& common, uint32_t members, const StartMember& start);

/// What steps of messages took, as cells of a table under message_columns.
std::string message_cells(const Json& report);
inline constexpr const char* message_columns =
    "step, mean ms | longest | message, mean ms | p99 | sent again";

}  // namespace cw::bench
