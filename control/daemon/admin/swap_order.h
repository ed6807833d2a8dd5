// An order for a swap, as JSON has it, read and checked.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "control/daemon/capture/tracing.h"
#include "control/gateway/site/swaps/shard_swaps.h"
#include "control/json/json.h"
#include "dataplane/base/result.h"

namespace cw::site {
class Site;
}

namespace cw::daemon {

/// A whole number of an order; nothing: it is not there, or is none of these, and `complain` knows.
std::optional<int64_t> number_in(const Json& json, const char* name, int64_t least, int64_t most,
                                 const std::function<void(const std::string&)>& complain);

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
