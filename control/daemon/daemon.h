// The life of a gateway's process: open, tell, watch, drain, leave.
#pragma once

#include "control/daemon/log.h"
#include "control/daemon/reload.h"

namespace cw::site {
struct Plan;
}

namespace cw::daemon {

inline constexpr int exit_done = 0, exit_failed = 1, exit_refused = 2;
/// Told to end, and the packets' thread does not turn, or whoever would end it stands.
inline constexpr int exit_forced = 3;

/// Runs a gateway until a signal ends it; returns the exit code. Blocks the signals that it waits
/// for, and writes lines to `log`.
///
///   SIGTERM, SIGINT   drain: take nothing more from the hosts, send what there is, leave the
///                     links; a second one: at once, by _exit(exit_forced) where nothing else helps
///   SIGHUP            read `source` again, and change what can be while traffic flows (reload.h)
///   SIGUSR1           write the status file now, or the status to the log where there is no file
int run(const Source& source, site::Plan plan, const Log& log);

}  // namespace cw::daemon
