// What can be ordered, and the file beside what is in force.
#pragma once

#include "control/api/request.h"
#include "control/daemon/admin/doors.h"
#include "control/daemon/capture/capture.h"

namespace cw::daemon::orders {

using api::Request;
using api::Response;

/// Keys that the file wants otherwise than they are in force.
Response config(const Doors& doors, const Request& request);
/// The file that would say what is in force, with remarks and places lost. There is no secret in
/// it: keys are named by their files.
Response in_force(const Doors& doors, const Request& request);
/// What a reload would do.
Response plan(const Doors& doors, const Request& request);
Response reload(const Doors& doors, const Request& request);

/// Replaces the policy of one class: {"class", "policy", "params"?, "peer"?, "direction"?,
/// "guard"?}. Answers with the order's number; what becomes of it is in /v1/swaps?order=NUMBER.
Response swap(const Doors& doors, const Request& request);

/// {"class", "peer"?}: what has been ordered of a class that adapts is over, and it chooses again.
Response adapt(const Doors& doors, const Request& request);

/// {"is_wanted": true}: peers are asked to send by other sites, or no longer.
Response drain(const Doors& doors, const Request& request);

/// {"policy": "hybrid/1", "params"?: "k=32 m=4"}: swaps may bring it again.
Response forgive(const Doors& doors, const Request& request);

/// {"seconds"?: 10, "packets"?, "side"?: "lan" | "wan" | "both", "peer"?: "north"}. Errors: every
/// mistake, a line each.
Result<CaptureOrder> parse_capture(const Doors& doors, const Request& request);
/// ?seconds=1 to 10; how long to look.
Result<Duration> parse_flows(const Request& request);

}  // namespace cw::daemon::orders
