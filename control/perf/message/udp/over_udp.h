// Messages over sockets, where this process is one member.
#pragma once

#include "control/perf/end/rendezvous.h"
#include "control/perf/message/load_report.h"

namespace cw::perf {

/// Steps in which each member has a message for each other one. A step takes as long as it takes
/// the last member, from its own post on; all of them tell rank 0, whose figures are of all. Waits
/// for members for a minute. Errors: a sentence.
Result<LoadReport> run_over_udp(const MessageOptions& options, const Recovery& recovery,
                                const StopFlag& stop);

}  // namespace cw::perf
