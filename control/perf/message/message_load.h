// `causeway-perf alltoall | allreduce`: messages between hosts, timed, counted and compared.
#pragma once

#include <span>

#include "control/perf/measure.h"
#include "control/perf/message/load_report.h"
#include "control/perf/message/options.h"

namespace cw::perf {

/// In virtual time, or over sockets as one member. Thread: any; several at once do not see each
/// other. Errors: a sentence, of what the policy refuses or is not; of members that do not come.
Result<LoadReport> measure_message_load(const MessageOptions& options, const StopFlag& stop);

/// Runs it and prints; returns the exit status that --help tells.
int run_message_load(std::span<char* const> arguments, const StopFlag& stop);

}  // namespace cw::perf
