// Classes that adapt, as files have them.
#include <gtest/gtest.h>

#include "tests/unit/site_config/mistakes.h"

namespace cw::site {
namespace {

std::string adaptive(const std::string& lines) {
  return "[[class]]\nname = 'all'\npolicy = 'adaptive'\n" + lines;
}

Result<Plan> plan_with(const std::string& lines) {
  const Folder folder;
  return read_plan("f", file_with("", "", adaptive(lines).c_str()));
}

TEST(AdaptiveClass, chooses_between_two_unless_more_are_named) {
  const auto plan = plan_with("");
  ASSERT_TRUE(plan) << plan.error().sentence;
  const ClassPlan& it = plan->classes[0];
  ASSERT_TRUE(it.adapt);
  ASSERT_EQ(it.adapt->policies.size(), 2u);
  EXPECT_STREQ(it.adapt->policies[0]->name, "selective_repeat");
  EXPECT_STREQ(it.adapt->policies[1]->name, "erasure");
  EXPECT_EQ(it.adapt->aim, model::Aim::Tail);
  EXPECT_EQ(it.adapt->transfer, Bytes(1 << 20));
  EXPECT_FALSE(it.adapt->is_dry);
  EXPECT_EQ(it.policy, "selective_repeat") << "nothing is known of the line when it begins";
}

/// Whatever it chooses later is in place at both ends.
TEST(AdaptiveClass, has_room_for_all_it_may_choose) {
  const auto plan = plan_with("");
  ASSERT_TRUE(plan) << plan.error().sentence;
  const sdr::StreamConfig& stream = plan->classes[0].stream;
  for (const model::Plan& each : adapt::candidates_of(*plan->classes[0].adapt)) {
    if (std::string_view(each.policy->name) != "erasure") continue;
    EXPECT_LE(model::param_of(each, "k"), stream.k);
    EXPECT_LE(model::param_of(each, "m_max"), stream.m_cap / stream.rows);
  }
}

TEST(AdaptiveClass, takes_what_it_is_told) {
  const auto plan = plan_with(
      "policies = ['erasure', 'go_back_n']\naim = 'mean'\ntransfer = '4 MiB'\ndry_run = true\n");
  ASSERT_TRUE(plan) << plan.error().sentence;
  const ClassPlan& it = plan->classes[0];
  EXPECT_EQ(it.policy, "erasure");
  EXPECT_EQ(it.adapt->aim, model::Aim::Mean);
  EXPECT_EQ(it.adapt->transfer, Bytes(4 << 20));
  EXPECT_TRUE(it.adapt->is_dry);
}

TEST(AdaptiveClass, says_what_it_will_never_choose) {
  const auto plan = plan_with("policies = ['hybrid', 'erasure']\n");
  ASSERT_TRUE(plan) << plan.error().sentence;
  EXPECT_EQ(plan->classes[0].policy, "erasure");
  ASSERT_EQ(plan->warnings.size(), 1u);
  EXPECT_EQ(plan->warnings[0],
            "class \"all\": adaptive never chooses hybrid, which has room all the same: what it "
            "makes of a line is not known on paper; causeway-model knows selective_repeat, "
            "go_back_n and erasure");
}

TEST(AdaptiveClass, may_be_any_of_its_policies_when_hosts_give_up) {
  const Folder folder;
  const std::string hasty = adaptive("policies = ['selective_repeat']\nhost_timeout = '60 ms'\n"),
                    slow = adaptive("host_timeout = '60 ms'\n");
  EXPECT_EQ(verdict(file_with("", "", hasty.c_str())), "");
  EXPECT_TRUE(verdict(file_with("", "", slow.c_str()))
                  .starts_with("f:17:16: class \"all\": pair.rtt 20 ms, a loss mended by "))
      << verdict(file_with("", "", slow.c_str()));
}

TEST(AdaptiveClass, says_what_is_wrong) {
  expect_all({
      {"", "", adaptive("policies = ['hybrid']\n").c_str(),
       "f:17:12: class \"all\": adaptive has nothing to choose from: what hybrid makes of a line "
       "is not known on paper; causeway-model knows selective_repeat, go_back_n and erasure"},
      {"", "", adaptive("aim = 'best'\n").c_str(),
       "f:17:7: class.aim is \"best\"; it must be \"tail\", \"mean\" or \"goodput\""},
      {"", "", adaptive("transfer = '100 B'\n").c_str(),
       "f:17:12: class.transfer is \"100 B\"; 1 KiB to 1 GiB is accepted"},
      {"", "", adaptive("params = { k = 32 }\n").c_str(),
       "f:17:12: class.params.k is not known; there are no keys here"},
      {"", "", "[[class]]\nname = 'all'\npolicy = 'hybrid'\naim = 'mean'\n",
       "f:16:10: class \"all\": aim, transfer and dry_run are for policy = \"adaptive\" alone; "
       "leave them out, or take that"},
  });
}

}  // namespace
}  // namespace cw::site
