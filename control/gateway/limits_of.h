// What a policy needs on the link that a file describes, before there is one.
#pragma once

#include <span>

#include "control/gateway/config.h"
#include "dataplane/policy.h"

namespace cw::site {

/// `params`: one value per parameter. All zeros for a policy that says nothing.
cw_policy_limits limits_of(const cw_policy_ops& policy, std::span<const double> params,
                           const Config& config);

}  // namespace cw::site
