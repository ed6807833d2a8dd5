// What status says of keys and seals.
#pragma once

#include "control/gateway/plan.h"
#include "control/gateway/site/site_state.h"
#include "control/json/json.h"

namespace cw::daemon {

/// Of one peer.
Json keys_json(const seal::KeyringView& keys);
/// Of the site: what is protected, and what that came to.
Json seal_json(const site::Plan& plan, const site::SiteState& state);

}  // namespace cw::daemon
