// What status says of classes that adapt.
#pragma once

#include <span>

#include "control/gateway/site/adapt/site_adapt.h"
#include "control/json/json.h"

namespace cw::daemon {

/// Each class that adapts at each peer; `now` is the site's time.
Json adaptive_json(const site::Plan& plan, std::span<const site::AdaptView> views, Instant now);

}  // namespace cw::daemon
