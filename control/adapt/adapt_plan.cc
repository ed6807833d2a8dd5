#include "control/adapt/adapt_plan.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "control/units/text.h"
#include "dataplane/base/assert.h"

namespace cw::adapt {
namespace {

/// Of a row, and of its repair.
struct Code {
  unsigned k, m;
  constexpr double repair() const { return double(m) / k; }
};
/// None is beyond what `erasure` reserves by default: 32 data slots a row, and 16 of repair. First
/// more repair, then shorter rows.
constexpr std::array<Code, 10> codes{
    {{32, 1}, {32, 2}, {32, 3}, {32, 4}, {32, 6}, {32, 8}, {32, 12}, {32, 16}, {16, 12}, {8, 8}}};
static_assert(std::ranges::is_sorted(codes, {}, &Code::repair));

model::Plan plan_from(const std::string& text) {
  auto plan = model::parse_plan(text);
  CW_ASSERT(plan);
  return std::move(*plan);
}

bool has_name(const cw_policy_ops& policy, std::string_view name) { return policy.name == name; }

model::Plan code_plan(const Code& code) {
  // A policy that follows the line by itself would hide from this one what it has chosen.
  return plan_from(text_of("erasure:k=%u,m=%u,m_max=%u", code.k, code.m, code.m));
}

}  // namespace

std::vector<model::Plan> candidates_of(const AdaptPlan& plan) {
  std::vector<model::Plan> all;
  for (const cw_policy_ops* each : plan.policies) {
    if (model::has_law(*each) && !has_name(*each, "erasure")) all.push_back(plan_from(each->name));
  }
  const auto is_code = [](const cw_policy_ops* each) { return has_name(*each, "erasure"); };
  if (std::ranges::none_of(plan.policies, is_code)) return all;
  for (const Code& each : codes) all.push_back(code_plan(each));
  all.push_back(plan_from("erasure"));  // what begins, where there is nothing else
  return all;
}

model::Plan first_of(const AdaptPlan& plan) {
  const auto known =
      std::ranges::find_if(plan.policies, [](const auto* each) { return model::has_law(*each); });
  CW_ASSERT(known != plan.policies.end());
  return plan_from((*known)->name);
}

std::string name_of(const model::Plan& plan) {
  if (!has_name(*plan.policy, "erasure")) return plan.policy->name;
  const double k = model::param_of(plan, "k"), m = model::param_of(plan, "m");
  const double most = model::param_of(plan, "m_max");
  if (most <= m) return text_of("erasure (%.0f,%.0f)", k, m);
  return text_of("erasure (%.0f,%.0f to %.0f)", k, m, most);
}

}  // namespace cw::adapt
