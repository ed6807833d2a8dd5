// `policy = "adaptive"`: what the class may send by, and how that is chosen while it runs.
#include <algorithm>

#include "control/config/policy_keys.h"
#include "control/gateway/keys/config.h"
#include "control/model/predict.h"

namespace cw::site {
namespace {

constexpr const char* transfer_least = "1 KiB";
constexpr const char* transfer_most = "1 GiB";

/// What `policies` names, or all that are built in and have a law, but for what is never better.
std::vector<const cw_policy_ops*> policies_of(const ClassConfig& it, const Config& config) {
  if (it.has_others) return it.others;
  return {config.policy_called("selective_repeat"), config.policy_called("erasure")};
}

std::string names_of_unknown(const std::vector<const cw_policy_ops*>& policies) {
  std::string names;
  for (const cw_policy_ops* each : policies) {
    if (!model::has_law(*each)) names += (names.empty() ? "" : ", ") + std::string(each->name);
  }
  return names;
}

bool has_choice(const ClassConfig& it) {
  return std::ranges::any_of(it.adapt.policies,
                             [](const cw_policy_ops* each) { return model::has_law(*each); });
}

void check_choice(config::Section& row, ClassConfig& it, Config& config) {
  const std::string unknown = names_of_unknown(it.adapt.policies);
  if (unknown.empty()) return;
  const std::string advice = "causeway-model knows selective_repeat, go_back_n and erasure";
  if (!has_choice(it)) {
    return row.complain("policies", "class \"" + it.name +
                                        "\": adaptive has nothing to choose from: what " + unknown +
                                        " makes of a line is not known on paper; " + advice);
  }
  config.warnings.push_back("class \"" + it.name + "\": adaptive never chooses " + unknown +
                            ", which has room all the same: what it makes of a line is not known "
                            "on paper; " +
                            advice);
}

}  // namespace

void declare_adapt(config::Section& row, ClassConfig& it) {
  row.choice(
      "aim", it.adapt.aim, {"tail", "mean", "goodput"},
      "Where policy is adaptive, what is to be best: p99.9 of transfers, their mean, or bytes "
      "per second.");
  row.key("transfer", it.adapt.transfer,
          "Likewise: what the hosts wait for as a whole, of which adaptive reckons how long it "
          "takes.")
      .range(transfer_least, transfer_most);
  row.key("dry_run", it.adapt.is_dry,
          "Likewise: only says in the log what it would do. The first of policies sends.");
}

void settle_adapt(config::Section& row, ClassConfig& it, Config& config) {
  adapt::AdaptPlan untouched;
  untouched.policies = it.adapt.policies;
  if (!it.adapts) {
    if (it.adapt == untouched) return;
    return row.complain("policy", "class \"" + it.name +
                                      "\": aim, transfer and dry_run are for policy = "
                                      "\"adaptive\" alone; leave them out, or take that");
  }
  it.adapt.policies = policies_of(it, config);
  check_choice(row, it, config);
  it.params = config::default_params(*it.policy);
  if (!has_choice(it)) return;
  model::Plan first = adapt::first_of(it.adapt);
  it.policy = first.policy;
  it.params = std::move(first.params);
  it.others = it.adapt.policies;
}

}  // namespace cw::site
