// What the status file says: one JSON object about the moment it was written.
#pragma once

#include <string>
#include <vector>

#include "control/daemon/watch/latency_watch.h"
#include "control/gateway/site/adapt/site_adapt.h"
#include "control/json/json.h"
#include "dataplane/base/result.h"

namespace cw::daemon {

/// What only the process knows of itself.
struct ProcessView {
  std::string state = "running";  ///< or "draining", or "worker stuck"
  std::string stuck_since;        ///< a packets' thread does not turn; a time, empty: all do
  double uptime_s = 0;
  bool is_drain_wanted = false;     ///< of its peers, so that another gateway takes over
  double quiet_s = 0;               ///< since a frame of a host was seen to cross
  double cpu = 0;                   ///< of one core, the packets' threads, since the last status
  std::vector<std::string> alarms;  ///< what is wrong now and needs a person; see Watcher
  /// Null: nobody has looked.
  const LatencyWatch* latency = nullptr;
  std::vector<site::AdaptView> adaptive;  ///< none: no class adapts
};

/// "2026-11-22T12:00:00.000Z", now, by this machine's clock.
std::string utc_now();

/// What the file says before there is a site.
Json status_at_start(const site::Plan& plan);

/// While the packets' thread does not turn, `state` is the last that it gave.
Json status_of(const site::Plan& plan, const site::SiteState& state, const ProcessView& process);

/// What a plan came to, for --check --json.
Json plan_json(const site::Plan& plan);

/// Whoever reads `path` sees the old file or the new one, never half of one. False when its disk is
/// full, which nobody who starts a gateway has got wrong, and which passes. Errors: the folder does
/// not exist, or may not be written to.
Result<bool> try_write_atomically(const std::string& path, const std::string& text);

}  // namespace cw::daemon
