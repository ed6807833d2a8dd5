// The policies of a class: the one by which it sends, and what else its messages have room for,
// should the peer want another or a swap bring it in.
#include <algorithm>

#include "control/config/policy_keys.h"
#include "control/gateway/derive.h"
#include "control/gateway/keys/config.h"
#include "dataplane/sdr/seat/policy_needs.h"

namespace cw::site {
namespace {

ClassPolicy choice_of(const cw_policy_ops& ops, std::vector<double> params, const Config& config) {
  ClassPolicy policy{.ops = &ops, .params = std::move(params)};
  policy.needs = needs_at(config.pair.rtt, policy, config);
  return policy;
}

void add_other(ClassConfig& it, const cw_policy_ops& ops, const Config& config) {
  const bool is_there =
      std::ranges::any_of(it.policies, [&](const ClassPolicy& each) { return each.ops == &ops; });
  if (!is_there) it.policies.push_back(choice_of(ops, config::default_params(ops), config));
}

/// Whether both classes' messages have the same room.
bool are_alike(const ClassConfig& a, const ClassConfig& b, const Config& config) {
  const auto of_a = stream_of(a, 0, config), of_b = stream_of(b, 0, config);
  return of_a && of_b && sdr::pair_keys(*of_a) == sdr::pair_keys(*of_b);
}

}  // namespace

cw_policy_limits needs_at(Duration rtt, const ClassPolicy& policy, const Config& config) {
  if (config.link_rate() == Rate()) return {};
  return sdr::needs_of({policy.ops, policy.params}, outline_of(config),
                       {.rate = config.link_rate(), .rtt = rtt});
}

void declare_own_policy(config::Section& row, ClassConfig& it, const ConfigPtr& config) {
  it.policy = config->policy_called("selective_repeat");
  const auto initial = std::ranges::find(config->policies, it.policy) - config->policies.begin();
  std::vector<std::string> names = config::names_of(config->policies);
  names.emplace_back("adaptive");
  row.choice("policy", static_cast<size_t>(initial), std::move(names),
             "How losses are mended; site.plugins brings more. Unless one is named, hybrid for a "
             "class of RoCE only. SIGHUP replaces it, as it does params, while traffic flows. "
             "adaptive chooses from policies, as the line is.",
             [&it, config](size_t i) {
               it.adapts = i == config->policies.size();
               if (!it.adapts) it.policy = config->policies[i];
               it.has_policy = true;
             })
      .kind(config::KeyKind::Swap);
  declare_adapt(row, it);
}

void declare_others(config::Section& row, ClassConfig& it, const ConfigPtr& config) {
  row.choices(
         "policies", config::names_of(config->policies),
         "What else its messages have room for, if the other site wants that; left out: what "
         "needs no more room than policy does. Largest blocks must be alike at all sites.",
         [&it] {
           it.others.clear();
           it.has_others = true;
         },
         [&it, config](size_t i) { it.others.push_back(config->policies[i]); })
      .kind(config::KeyKind::Relink);
}

void settle_named(ClassConfig& it, const Config& config) {
  it.policies = {choice_of(*it.policy, it.params, config)};
  for (const cw_policy_ops* each : it.others) add_other(it, *each, config);
  add_other(it, *it.fallback, config);
}

void settle_unnamed(ClassConfig& it, const Config& config) {
  if (it.has_others || it.policies.empty() || it.hold == Duration::max()) return;
  for (const cw_policy_ops* each : config.policies) {
    ClassConfig larger = it;
    add_other(larger, *each, config);
    if (are_alike(it, larger, config)) it.policies = larger.policies;
  }
}

}  // namespace cw::site
