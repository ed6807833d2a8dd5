// Live keys, put into force while traffic flows: routes of the kernel, the status file, what each
// shard takes between two turns, the log. Each step has its inverse ready before it is done, and
// one that fails undoes those before it.
#pragma once

#include <functional>
#include <string>

#include "control/daemon/log.h"
#include "control/daemon/live/route_helper.h"
#include "control/gateway/plan.h"
#include "dataplane/base/result.h"
#include "dataplane/base/units.h"

namespace cw::site {
class Site;
}  // namespace cw::site

namespace cw::daemon {

/// What of live keys is no site's. All of it outlives who has it.
struct Surroundings {
  RouteSetter* routes = nullptr;  ///< null: no routes are set here
  /// Called when the status file has another name; empty: there is none any more.
  std::function<void(const std::string& file)> on_status_file;
  /// Called when the file has been taken: what it says of classes stands again, whatever has been
  /// ordered of them since.
  std::function<void()> on_reloaded;
};

/// `next` is as Site::apply() wants it; site.plan() says the same afterwards. Errors: one sentence,
/// and all is as before. Thread: who asks the site. Cost: slow.
Result<void> apply_live(site::Plan& next, site::Site& site, const Log& log,
                        const Surroundings& around, Duration patience);

}  // namespace cw::daemon
