// Swaps that cannot be, and the one that follows when a policy has lost its wits.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "tests/sim/sdr/swap_world.h"

namespace cw::sim {
namespace {
using namespace literals;

// ---- what cannot be ----

/// Nothing has changed, and both ends say why.
void expect_refused(Pair& pair, SwapStatus status, const std::string& sentence) {
  ASSERT_TRUE(pair.run_until([&] { return is_over(pair); }, 8_s));
  const sdr::SwapReport& here = source_end(pair).report();
  EXPECT_EQ(here.fate, sdr::SwapReport::Fate::NotDone);
  EXPECT_EQ(here.status, status);
  EXPECT_NE(here.sentence.view().find(sentence), std::string::npos) << here.sentence.view();
  EXPECT_EQ(count(*pair.a, Counter::swaps_refused), 1u);
  EXPECT_EQ(count(*pair.a, Counter::policies_swapped), 0u);
  expect_under(pair, cw_policy_selective_repeat());
  EXPECT_TRUE(pair.delivers(20, 3_s));
  EXPECT_EQ(epochs(*pair.a), 1u);
}

TEST(SwapRefused, for_want_of_room_for_the_blocks_of_the_next) {
  SiteOptions site = site_under(cw_policy_erasure());
  const cw_policy_limits needs{.k = 8, .rows = 1, .m_cap = 2};
  site.stream = sdr::coded(site.stream, needs, code::all());
  site.policy = cw_policy_selective_repeat();
  site.knows = {cw_policy_erasure()};
  const WireScript script;
  Pair pair({.a = site, .b = site}, script);
  ASSERT_TRUE(pair.delivers(20, 3_s));
  swap(pair, cw_policy_erasure());
  expect_refused(pair, SwapStatus::BeyondReserve, "needs blocks of");
}

/// A pair of which one end alone lacks something.
struct OneLacks {
  explicit OneLacks(const SiteOptions& there)
      : pair({.a = roomy_site(cw_policy_selective_repeat()), .b = there}, script) {
    EXPECT_TRUE(pair.delivers(20, 3_s));
  }
  const WireScript script;
  Pair pair;
};

TEST(SwapRefused, where_the_peer_has_no_such_policy) {
  SiteOptions there = roomy_site(cw_policy_selective_repeat());
  there.knows = {};
  OneLacks it(there);
  swap(it.pair, cw_policy_hybrid());
  expect_refused(it.pair, SwapStatus::Unknown, "there is no policy hybrid here");
  EXPECT_TRUE(source_end(it.pair).report().is_refused_there);
  EXPECT_FALSE(sink_end(it.pair).report().is_refused_there);
  EXPECT_EQ(sink_end(it.pair).report().sentence.view(), "there is no policy hybrid here");
}

TEST(SwapRefused, where_the_peers_policy_speaks_another_version) {
  cw_policy_ops later = *cw_policy_hybrid();
  later.wire_version += 1;
  SiteOptions there = roomy_site(cw_policy_selective_repeat());
  there.knows = {&later};
  OneLacks it(there);
  swap(it.pair, cw_policy_hybrid());
  expect_refused(it.pair, SwapStatus::WireVersion, "hybrid has notes of version 2");
}

TEST(SwapRefused, where_its_parameters_cannot_be) {
  OneLacks it(roomy_site(cw_policy_selective_repeat()));
  sdr::SwapPolicy policy = named(cw_policy_hybrid());
  policy.params = std::string_view("k=9000");
  ASSERT_TRUE(it.pair.a->link().order_swap(0, CW_SOURCE, policy, it.pair.network().now()));
  expect_refused(it.pair, SwapStatus::Parameters, "its parameter k=9000 is none here");
}

/// Cut off it would be another policy's, or the same with other parameters.
TEST(SwapRefused, where_its_parameters_are_too_long_to_be_said) {
  std::array<cw_param, 12> params{};
  for (cw_param& each : params) {
    each = cw_policy_hybrid()->params[0];
    each.name = "a_parameter_of_a_rather_long_name";
  }
  cw_policy_ops wordy = *cw_policy_hybrid();
  wordy.params = params.data();
  wordy.param_count = params.size();
  OneLacks it(roomy_site(cw_policy_selective_repeat()));
  const auto ordered = order(it.pair, &wordy);
  ASSERT_FALSE(ordered);
  EXPECT_EQ(ordered.error().sentence,
            "its name and parameters are longer than records have room for");
}

TEST(SwapRefused, where_nobody_makes_the_peers) {
  OneLacks it(roomy_site(cw_policy_selective_repeat()));
  it.pair.b->neglect(true);
  swap(it.pair, cw_policy_hybrid());
  EXPECT_FALSE(it.pair.run_until([&] { return is_over(it.pair); }, 4900_ms));
  it.pair.run_for(200_ms);
  EXPECT_EQ(source_end(it.pair).report().sentence.view(), "there was no answer in time");
  EXPECT_TRUE(sink_end(it.pair).is_idle());
  it.pair.b->neglect(false);
  it.pair.run_for(100_ms);
  EXPECT_FALSE(it.pair.b->endpoint().wants_care());
  EXPECT_TRUE(it.pair.delivers(20, 3_s));
  swap(it.pair, cw_policy_hybrid());
  EXPECT_TRUE(it.pair.run_until([&] { return has_swapped(it.pair); }, 1_s));
}

TEST(SwapRefused, by_a_peer_that_cannot_and_a_link_that_is_down) {
  const WireScript script;
  Pair pair({.a = roomy_site(cw_policy_selective_repeat()),
             .b = roomy_site(cw_policy_selective_repeat())},
            script);
  const auto down = order(pair, cw_policy_hybrid());
  ASSERT_FALSE(down);
  EXPECT_EQ(down.error().sentence.find("the link is down: "), 0u) << down.error().sentence;
}

// ---- after a quarantine ----

/// What stands in mends nothing: both ends agree on what does, and the culprit does not come back.
TEST(Swap, follows_a_quarantine_and_bars_who_was_in_it) {
  PairOptions options = slots_pair_under(Greedy::policy(), 0);
  for (SiteOptions* site : {&options.a, &options.b}) {
    site->after_quarantine = choice_of(cw_policy_hybrid());
  }
  SlotsWorld world(options);
  ASSERT_TRUE(world.comes_up());
  Prng prng(1);
  ASSERT_TRUE(world.appends(300, prng, 5_s));
  Greedy::is_mad = true;
  EXPECT_TRUE(world.pair.run_until(
      [&] { return world.count_at_a(Counter::policies_quarantined) > 0; }, 1_s));
  Greedy::is_mad = false;
  world.source.close(world.sends());
  EXPECT_EQ(world.count_at_a(Counter::policies_quarantined), 2u);  // what it sends by, and receives
  EXPECT_TRUE(world.pair.run_until([&] { return has_swapped(world.pair); }, 1_s));
  expect_under(world.pair, cw_policy_hybrid());
  EXPECT_TRUE(world.appends(300, prng, 5_s));
  EXPECT_TRUE(world.all_arrive(1_s));
  EXPECT_EQ(world.sink->complaint(), "");
  EXPECT_EQ(epochs(*world.pair.a), 1u);
  swap(world.pair, Greedy::policy());
  EXPECT_TRUE(world.pair.run_until([&] { return is_over(world.pair); }, 1_s));
  EXPECT_EQ(source_end(world.pair).report().status, SwapStatus::Barred);
  EXPECT_EQ(source_end(world.pair).report().sentence.view(),
            "greedy exceeded its quotas here before");
  expect_under(world.pair, cw_policy_hybrid());
}

}  // namespace
}  // namespace cw::sim
