// A policy and its parameters, as keys of a file. The parameters are those that the policy's own
// table declares, with its units, ranges, defaults and sentences.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "control/config/section.h"
#include "dataplane/policy.h"

namespace cw::config {

std::vector<std::string> names_of(std::span<const cw_policy_ops* const> policies);

/// Declares `name`, one of `known`, and then the parameters of the policy that was named. `policy`
/// is the default; afterwards it and `params`, one value per parameter, say what was chosen. Both
/// outlive the section.
void declare_policy(Section& section, std::span<const cw_policy_ops* const> known,
                    const cw_policy_ops*& policy, std::vector<double>& params);

/// Only the parameters of a policy that is known already; those that `params` has a value for
/// begin with it, the others with the policy's default.
void declare_params(Section& section, const cw_policy_ops& policy, std::vector<double>& params);

/// One value per declared parameter: its default.
std::vector<double> default_params(const cw_policy_ops& policy);

/// Every policy and its parameters, with their sentences, defaults and ranges, for a person.
std::string policies_text(std::span<const cw_policy_ops* const> known);

/// A parameter's value as a person writes it.
std::string param_text(const cw_param& param, double value);

}  // namespace cw::config
