// Peers come and go in places that a site was started with: as many as its file had peers then, and
// site.spare_peers more. All else goes by a place's number, which a peer keeps while it is there.
#pragma once

#include <vector>

#include "control/gateway/plan.h"
#include "control/gateway/site/live/live_change.h"

namespace cw::site {

/// The peers of `next` into the places that `running` has for them, each where it was, others where
/// there was nobody. False: there are too few; `next` is then as it was.
bool try_arrange(const Plan& running, Plan& next);
/// The peers that `running` has no place for, where there are too few.
std::vector<Beyond> beyond_places(const Plan& running, const Plan& next);

}  // namespace cw::site
