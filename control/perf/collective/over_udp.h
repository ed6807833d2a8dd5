// One member of a group as a process of its own, over UDP sockets and multicast.
#pragma once

#include "control/perf/collective/options.h"
#include "control/perf/collective/tally.h"
#include "control/perf/measure.h"
#include "dataplane/base/result.h"

namespace cw::perf {

/// Runs all rounds with the other members; the report of all of them, at each. Errors: the port's;
/// who did not come; why an operation failed.
Result<Json> run_over_udp(const CollectiveOptions& options, const StopFlag& stop);

}  // namespace cw::perf
