// `causeway-perf broadcast | allgather | reduce-scatter | fsdp`: operations of a group, timed,
// counted and compared.
#pragma once

#include <span>
#include <string_view>

#include "control/perf/measure.h"

namespace cw::perf {

/// Runs it and prints; returns the exit status that --help tells.
int run_collective(std::span<char* const> arguments, const StopFlag& stop);

}  // namespace cw::perf
