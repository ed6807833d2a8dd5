// What a policy is told of a stream, and what it needs of one: asked before there is a link.
#pragma once

#include <cstdint>

#include "dataplane/base/result.h"
#include "dataplane/base/units.h"
#include "dataplane/policy.h"
#include "dataplane/sdr/options.h"
#include "dataplane/sdr/stream/stream_config.h"

namespace cw::sdr {

/// The link as far as it is known. What a stream's blocks look like depends on the parameters of
/// the policies here and not on the link; how long they retain does.
struct LinkGuess {
  Rate rate = Rate::from_gbps(1);
  Duration rtt = Duration::from_ns(1);
  uint32_t paths = 1;
};

/// What a policy is told of its surroundings, save its parameters: its blocks are its own, within
/// what the stream has room for; in one without blocks it has none. Errors: it needs more. Cost:
/// slow.
Result<cw_env> env_of(const PolicyChoice& policy, const StreamConfig& stream, const LinkGuess& link,
                      cw_role role);

/// Whether it refuses every stream and serves endpoints. Cost: slow, makes instances.
bool serves_endpoints_only(const PolicyChoice& policy);

/// All zeros for a policy that says nothing. Cost: slow.
cw_policy_limits needs_of(const PolicyChoice& policy, const StreamConfig& stream,
                          const LinkGuess& link);

}  // namespace cw::sdr
