// `causeway-perf alltoall | allreduce`: messages between hosts, timed, counted and compared.
#pragma once

#include <span>

#include "control/perf/measure.h"

namespace cw::perf {

/// Runs it and prints; returns the exit status that --help tells.
int run_message_load(std::span<char* const> arguments, const StopFlag& stop);

}  // namespace cw::perf
