// What of a plan a second set of links cannot have, on the ports and in the places that a site was
// started with.
#pragma once

#include <vector>

#include "control/gateway/plan.h"
#include "control/gateway/site/live/live_change.h"
#include "dataplane/port.h"

namespace cw::site {

/// `wan` is the running site's port.
std::vector<Beyond> misfits(const Plan& running, const Plan& next, const PortFacts& wan);

/// The peers that come or go: while links of before are there, which go to who was there then.
std::vector<Beyond> other_peers(const Plan& running, const Plan& next);

}  // namespace cw::site
