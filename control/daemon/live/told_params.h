// Parameters of a policy as ends tell each other, in the words of people.
#pragma once

#include <string>

#include "dataplane/policy.h"

namespace cw::daemon {

/// "k=32 floor=5e+06" as a person writes it: "k=32 floor=5ms". What is no parameter of the policy
/// within its range stays as it is.
std::string told_params_text(const cw_policy_ops& policy, const std::string& told);

}  // namespace cw::daemon
