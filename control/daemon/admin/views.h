// What can be read: parts of the status, and what changes seldom.
#pragma once

#include "control/api/request.h"
#include "control/daemon/admin/doors.h"

namespace cw::daemon::views {

using api::Request;
using api::Response;

/// Who asks, and what they may do. Thread: any.
Response who(const Request& request);
Response status(const Doors& doors, const Request& request);
/// For scrapers, not JSON.
Response metrics(const Doors& doors, const Request& request);
Response links(const Doors& doors, const Request& request);
Response paths(const Doors& doors, const Request& request);
Response classes(const Doors& doors, const Request& request);
Response drops(const Doors& doors, const Request& request);
Response swaps(const Doors& doors, const Request& request);
/// Classes that adapt: what their lines are like, and what that came to.
Response adaptive(const Doors& doors, const Request& request);
Response policies(const Doors& doors, const Request& request);
/// Each end of each stream, as of now.
Response streams(const Doors& doors, const Request& request);
/// Policies that were put in quarantine, and not forgiven yet.
Response bars(const Doors& doors, const Request& request);
/// The last lines of the log.
Response log(const Doors& doors, const Request& request);

}  // namespace cw::daemon::views
