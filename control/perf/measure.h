// The three ways to measure: both ends in this process, or one of them over real packets.
#pragma once

#include <string>

#include "control/perf/end/rendezvous.h"
#include "control/perf/options.h"
#include "plugins/registry.h"

namespace cw::perf {

/// What a run leaves to be printed.
struct Outcome {
  Json report;           ///< the client's, or the server's figures
  bool is_whole = true;  ///< it ran to its end
};

/// Both ends over port/sim, in virtual time: a seed decides everything but the seconds it takes.
Result<Outcome> simulate(const Options& options, plugins::Registry& policies, const StopFlag& stop);

/// Errors: no server; the server refuses; the link does not come up, with the reason.
Result<Outcome> run_client(const Options& options, plugins::Registry& policies,
                           const StopFlag& stop);

/// Serves the client behind `channel`. Errors: what it asks for is refused (it is told too); it
/// went away.
Result<Outcome> serve(Channel& channel, const Options& options, plugins::Registry& policies,
                      const StopFlag& stop);

}  // namespace cw::perf
