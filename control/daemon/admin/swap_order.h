// An order for a swap, as JSON has it, read and checked.
#pragma once

#include "control/gateway/site/swaps/shard_swaps.h"
#include "control/json/json.h"
#include "dataplane/base/result.h"

namespace cw::site {
class Site;
}

namespace cw::daemon {

/// Errors: every mistake, a line each, with the names that there are.
Result<site::SwapOrder> parse_swap_order(const Json& json, site::Site& site);

}  // namespace cw::daemon
