// What the status file says: one JSON object about the moment it was written.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "control/gateway/plan.h"
#include "control/gateway/site_state.h"
#include "dataplane/base/result.h"

namespace cw::daemon {

using Json = nlohmann::ordered_json;

/// What only the process knows of itself.
struct ProcessView {
  std::string state = "running";  ///< or "draining"
  double uptime_s = 0;
  double cpu = 0;                   ///< of one core, the packets' thread, since the last status
  std::vector<std::string> alarms;  ///< what is wrong now and needs a person; see Watcher
};

Json status_of(const site::Plan& plan, const site::SiteState& state, const ProcessView& process);

/// What a plan came to, for --check --json.
Json plan_json(const site::Plan& plan);

/// Whoever reads `path` sees the old file or the new one, never half of one. Errors: the folder
/// does not exist, or may not be written to.
Result<void> write_atomically(const std::string& path, const std::string& text);

}  // namespace cw::daemon
