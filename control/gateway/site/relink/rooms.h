// What a shard's worker turns by one plan: links, what is to change about their policies, and the
// gateway on them. While links take the place of others, a shard has two of these on the same
// ports.
#pragma once

#include <memory>

#include "control/gateway/site/swaps/shard_swaps.h"
#include "dataplane/gateway/gateway.h"
#include "dataplane/sdr/endpoint.h"

namespace cw::site {

struct Rooms {
  std::unique_ptr<sdr::Endpoint> endpoint;  ///< while the shard does not turn it, which has it then
  std::unique_ptr<ShardSwaps> swaps;
  std::unique_ptr<gateway::Gateway> gateway;
};

}  // namespace cw::site
