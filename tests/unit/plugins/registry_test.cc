#include "plugins/registry.h"

#include <gtest/gtest.h>

#include <thread>

#include "plugins/loader.h"
#include "policies/policies.h"
#include "tests/unit/plugins/files.h"

namespace cw::plugins {
namespace {
using plugins_test::plugin;
using Names = std::vector<std::string_view>;

template <class T>
std::string sentence(const Result<T>& result) {
  return result ? "(none)" : result.error().sentence;
}

TEST(Registry, finds_what_is_linked_in_and_what_was_loaded) {
  Registry registry;
  for (const cw_policy_ops* ops : policy::all()) ASSERT_TRUE(registry.add(*ops));
  ASSERT_TRUE(registry.load(plugin("version_1")));
  EXPECT_EQ(registry.names(), (Names{"passthrough", "go_back_n", "selective_repeat", "erasure",
                                     "hybrid", "layered_interleave", "tried"}));
  EXPECT_EQ(&registry.find("go_back_n")->table(), cw_policy_go_back_n());
  EXPECT_STREQ(registry.find("tried")->table().version, "1");
}

TEST(Registry, names_the_nearest_policy_when_there_is_none) {
  Registry registry;
  EXPECT_EQ(sentence(registry.find("x")), "no policy is named \"x\": none is known");
  for (const cw_policy_ops* ops : policy::all()) ASSERT_TRUE(registry.add(*ops));
  EXPECT_EQ(sentence(registry.find("selective_repet")),
            "no policy is named \"selective_repet\": did you mean \"selective_repeat\"?");
  EXPECT_EQ(sentence(registry.unload("best")),
            "no policy is named \"best\": write passthrough, go_back_n, selective_repeat, "
            "erasure, hybrid or layered_interleave");
}

TEST(Registry, refuses_to_link_a_policy_twice_or_a_bad_one) {
  Registry registry;
  ASSERT_TRUE(registry.add(*cw_policy_passthrough()));
  EXPECT_EQ(sentence(registry.add(*cw_policy_passthrough())),
            "policy passthrough is there already");
  cw_policy_ops bad = *cw_policy_go_back_n();
  bad.create = nullptr;
  EXPECT_EQ(sentence(registry.add(bad)), "policy go_back_n has no create function");
}

TEST(Registry, passes_on_why_a_file_was_refused_and_stays_as_it_was) {
  Registry registry;
  EXPECT_EQ(sentence(registry.load(plugin("no_symbol"))),
            "plugin " + plugin("no_symbol") + " exports no function cw_policy_table");
  EXPECT_EQ(registry.names(), Names());
}

TEST(Registry, finds_the_newest_while_the_older_one_drains) {
  Registry registry;
  auto old_use = std::make_unique<PolicyRef>(*registry.load(plugin("version_1")));
  ASSERT_TRUE(registry.load(plugin("version_2")));
  EXPECT_STREQ(registry.find("tried")->table().version, "2");
  EXPECT_EQ(registry.names(), Names{"tried"});

  EXPECT_EQ(registry.unload_replaced(), 0u);
  EXPECT_STREQ(old_use->table().version, "1");
  old_use.reset();
  EXPECT_EQ(registry.unload_replaced(), 1u);
  EXPECT_EQ(LoadedPolicy::resident_count(), 1u);
  EXPECT_STREQ(registry.find("tried")->table().version, "2");
}

TEST(Registry, all_are_what_is_found_by_name) {
  Registry registry;
  ASSERT_TRUE(registry.add(*cw_policy_passthrough()));
  ASSERT_TRUE(registry.load(plugin("version_1")));
  ASSERT_TRUE(registry.load(plugin("version_2")));
  const std::vector<PolicyRef> all = registry.all();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_STREQ(all[0].table().name, "passthrough");
  EXPECT_STREQ(all[1].table().version, "2");
}

TEST(Registry, goes_back_to_the_older_one_when_the_newest_is_unloaded) {
  Registry registry;
  ASSERT_TRUE(registry.load(plugin("version_1")));
  ASSERT_TRUE(registry.load(plugin("version_2")));
  ASSERT_TRUE(registry.unload("tried"));
  EXPECT_STREQ(registry.find("tried")->table().version, "1");
  ASSERT_TRUE(registry.unload("tried"));
  EXPECT_FALSE(registry.find("tried"));
  EXPECT_EQ(LoadedPolicy::resident_count(), 0u);
}

TEST(Registry, unloads_nothing_that_is_in_use_or_built_in) {
  Registry registry;
  ASSERT_TRUE(registry.add(*cw_policy_passthrough()));
  EXPECT_EQ(sentence(registry.unload("passthrough")),
            "policy passthrough is built in and cannot be unloaded");
  {
    const auto first = registry.load(plugin("version_1"));
    EXPECT_EQ(sentence(registry.unload("tried")),
              "policy tried from " + plugin("version_1") + " has 1 user and cannot be unloaded");
    const auto second = registry.find("tried");
    EXPECT_EQ(sentence(registry.unload("tried")),
              "policy tried from " + plugin("version_1") + " has 2 users and cannot be unloaded");
    EXPECT_EQ(registry.unload_replaced(), 0u);
  }
  EXPECT_TRUE(registry.unload("tried"));
}

TEST(Registry, counts_a_use_once_however_it_moves) {
  Registry registry;
  ASSERT_TRUE(registry.load(plugin("version_1")));
  ASSERT_TRUE(registry.load(plugin("newer_minor")));
  {
    PolicyRef use = *registry.find("tried");
    PolicyRef moved = std::move(use);
    moved = *registry.find("tried");
    EXPECT_NE(sentence(registry.unload("tried")).find("has 1 user "), std::string::npos);
  }
  EXPECT_TRUE(registry.unload("tried"));
}

TEST(Registry, unloads_only_after_the_last_use_on_another_thread) {
  Registry registry;
  auto use = registry.load(plugin("version_1"));
  ASSERT_TRUE(use);
  std::thread worker([mine = std::move(*use)] {
    cw_policy* policy = nullptr;
    for (int i = 0; i < 1000; ++i) {
      EXPECT_EQ(mine.table().create(nullptr, &policy, nullptr, 0), 0);
      mine.table().destroy(policy);
    }
  });
  while (!registry.unload("tried")) std::this_thread::yield();
  EXPECT_EQ(LoadedPolicy::resident_count(), 0u);
  worker.join();
}

}  // namespace
}  // namespace cw::plugins
