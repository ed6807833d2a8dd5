// An order for a swap, as JSON has it, read and checked.
#pragma once

#include "control/daemon/capture/tracing.h"
#include "control/gateway/site/swaps/shard_swaps.h"
#include "control/json/json.h"
#include "dataplane/base/result.h"

namespace cw::site {
class Site;
}

namespace cw::daemon {

/// Errors: every mistake, a line each, with the names that there are.
Result<site::SwapOrder> parse_swap_order(const Json& json, site::Site& site);

/// That one class adapts again, at one peer or all. Errors: the same; it does not adapt.
struct AdaptOrder {
  uint16_t class_index = 0;
  std::optional<uint16_t> peer;
};
Result<AdaptOrder> parse_adapt_order(const Json& json, site::Site& site);

/// Which stream is traced: {"class", "peer"?, "link"?, "direction"?, "seconds"?}. Errors: the same;
/// no peer where there are several.
Result<TraceOrder> parse_trace_order(const Json& json, site::Site& site);

}  // namespace cw::daemon
