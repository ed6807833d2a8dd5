// What a class that adapts may send by.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "control/adapt/adapt_plan.h"
#include "policies/policies.h"

namespace cw::adapt {
namespace {

std::vector<std::string> names_of(const AdaptPlan& plan) {
  std::vector<std::string> names;
  for (const model::Plan& each : candidates_of(plan)) names.push_back(name_of(each));
  return names;
}

TEST(AdaptPlan, has_codes_of_rising_strength) {
  const AdaptPlan plan{.policies = {cw_policy_selective_repeat(), cw_policy_erasure()}};
  const std::vector<std::string> expected = {
      "selective_repeat", "erasure (32,1)",  "erasure (32,2)", "erasure (32,3)",
      "erasure (32,4)",   "erasure (32,6)",  "erasure (32,8)", "erasure (32,12)",
      "erasure (32,16)",  "erasure (16,12)", "erasure (8,8)",  "erasure (32,8 to 16)"};
  EXPECT_EQ(names_of(plan), expected);
  EXPECT_EQ(name_of(first_of(plan)), "selective_repeat");
}

TEST(AdaptPlan, never_has_what_no_law_is_known_for) {
  const AdaptPlan plan{
      .policies = {cw_policy_hybrid(), cw_policy_passthrough(), cw_policy_go_back_n()}};
  EXPECT_EQ(names_of(plan), std::vector<std::string>{"go_back_n"});
  EXPECT_EQ(name_of(first_of(plan)), "go_back_n");
}

/// Else it could swap to nothing that it has.
TEST(AdaptPlan, begins_with_a_candidate) {
  for (const cw_policy_ops* each :
       {cw_policy_selective_repeat(), cw_policy_go_back_n(), cw_policy_erasure()}) {
    const AdaptPlan plan{.policies = {each}};
    const model::Plan first = first_of(plan);
    const auto is_first = [&](const model::Plan& candidate) {
      return candidate.policy == first.policy && candidate.params == first.params;
    };
    EXPECT_TRUE(std::ranges::any_of(candidates_of(plan), is_first)) << each->name;
  }
}

}  // namespace
}  // namespace cw::adapt
