// One policy takes over from another at a boundary, while packets fly.
#include <gtest/gtest.h>

#include <map>

#include "dataplane/sdr/stream/recv/recv_stream.h"
#include "dataplane/sdr/stream/send/send_stream.h"
#include "dataplane/sdr/swap/swap_end.h"
#include "offload/codec/codecs.h"
#include "tests/sim/sdr/scribe.h"
#include "tests/sim/sdr/swap_world.h"
#include "tests/sim/sdr/watched_site.h"

namespace cw::sim {
namespace {
using namespace literals;

class SwapOfEveryPair
    : public testing::TestWithParam<std::tuple<const cw_policy_ops*, const cw_policy_ops*>> {};

TEST_P(SwapOfEveryPair, loses_no_slot_and_ends) {
  const auto [before, after] = GetParam();
  const bool repairs = before != cw_policy_passthrough() && after != cw_policy_passthrough();
  for (const uint64_t seed : {1, 2, 3}) {
    PairOptions options = slots_pair_under(before, repairs ? 0.01 : 0);
    options.seed = seed;
    SlotsWorld world(options);
    ASSERT_TRUE(world.comes_up());
    Prng prng(seed);
    ASSERT_TRUE(world.appends(700, prng, 5_s));
    swap(world.pair, after);
    ASSERT_TRUE(world.appends(1500, prng, 10_s));
    EXPECT_TRUE(world.all_arrive(5_s));
    EXPECT_TRUE(world.pair.run_until([&] { return has_swapped(world.pair); }, 3_s));
    EXPECT_EQ(world.sink->complaint(), "");
    EXPECT_EQ(epochs(*world.pair.a), 1u);
    EXPECT_EQ(world.count_at_a(Counter::policies_quarantined), 0u);
    expect_under(world.pair, after);
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, SwapOfEveryPair,
                         testing::Combine(testing::ValuesIn(policy::for_streams()),
                                          testing::ValuesIn(policy::for_streams())),
                         [](const auto& pair) {
                           return std::string(std::get<0>(pair.param)->name) + "_to_" +
                                  std::get<1>(pair.param)->name;
                         });

TEST(Swap, of_an_idle_stream_ends_too) {
  SlotsWorld world(slots_pair_under(cw_policy_selective_repeat(), 0));
  ASSERT_TRUE(world.comes_up());
  swap(world.pair, cw_policy_hybrid());
  EXPECT_TRUE(world.pair.run_until([&] { return has_swapped(world.pair); }, 200_ms));
  expect_under(world.pair, cw_policy_hybrid());
  Prng prng(1);
  EXPECT_TRUE(world.appends(100, prng, 2_s));
  EXPECT_TRUE(world.all_arrive(1_s));
  EXPECT_EQ(world.sink->complaint(), "");
}

TEST(Swap, may_follow_swap_a_hundred_times) {
  SlotsWorld world(slots_pair_under(cw_policy_hybrid(), 0.01));
  ASSERT_TRUE(world.comes_up());
  const std::array policies = {cw_policy_selective_repeat(), cw_policy_erasure(),
                               cw_policy_go_back_n(), cw_policy_layered_interleave(),
                               cw_policy_hybrid()};
  Prng prng(7);
  int64_t live = 0;
  for (uint16_t i = 1; i <= 100; ++i) {
    SCOPED_TRACE(i);
    const cw_policy_ops* const next = policies[prng.below(policies.size())];
    swap(world.pair, next);
    ASSERT_TRUE(world.appends(100 + static_cast<uint32_t>(prng.below(400)), prng, 10_s));
    world.source.close(world.sends());
    ASSERT_TRUE(world.pair.run_until([&] { return has_swapped(world.pair); }, 5_s));
    expect_under(world.pair, next);
    if (i == 20) live = HeapWatch::live_count();
  }
  EXPECT_TRUE(world.all_arrive(5_s));
  EXPECT_EQ(world.sink->complaint(), "");
  EXPECT_EQ(epochs(*world.pair.a), 1u);
  // What the test keeps of each slot apart: its arrival.
  EXPECT_LT(HeapWatch::live_count() - live, int64_t{world.source.appended()});
}

/// Messages of a program land in the receives that it has posted for them, one for one.
TEST(Swap, fills_nothing_where_receives_are_counted) {
  for (const bool has_rnic : {false, true}) {
    for (const cw_policy_ops* after : policy::for_streams()) {
      SCOPED_TRACE(after->name);
      SiteOptions site = roomy_site(cw_policy_selective_repeat());
      site.has_rnic = has_rnic;
      World world(site, {.messages = 200,
                         .bytes_of = [](uint64_t i) { return i * 7919 % 200'000; },
                         .posted = 8});
      ASSERT_TRUE(world.pair.run_until([&] { return world.transfer.received_count() >= 20; }, 5_s));
      swap(world.pair, after);
      EXPECT_TRUE(world.is_done_within(60_s));
      EXPECT_EQ(world.complaint(), "");
      EXPECT_EQ(world.transfer.whole_count(), 200u);
      EXPECT_TRUE(has_swapped(world.pair));
      expect_under(world.pair, after);
    }
  }
}

/// What it takes is made outside the turn, and what is over waits for whoever destroys it.
TEST(Swap, allocates_nothing_in_a_turn) {
  Story story({.site = roomy_site(cw_policy_hybrid()),
               .transfer = {.messages = 1'000'000,
                            .bytes_of = [](uint64_t i) { return i * 7919 % 100'000; }},
               .wire = {.loss = 0.01, .delay = 1_ms}});
  story.run_faults(200_ms);
  ASSERT_TRUE(story.a.is_up() && story.b.is_up());
  const sdr::SwapEnd& source = *story.a.link().swap(0, CW_SOURCE);
  const sdr::SwapEnd& sink = *story.b.link().swap(0, CW_SINK);
  ASSERT_TRUE(story.a.link().order_swap(0, CW_SOURCE, named(cw_policy_selective_repeat()),
                                        story.network.now()));
  for (int ms = 0; ms < 50 && source.state() != sdr::SwapState::Bound; ++ms) {
    story.run_faults(1_ms);
  }
  ASSERT_EQ(source.state(), sdr::SwapState::Bound);
  story.a.neglect(true);
  story.b.neglect(true);
  const uint64_t before = HeapWatch::allocation_count();
  WatchedSite a(story.a), b(story.b);
  Stage stage(story.network, 1);
  for (Actor* actor : std::initializer_list<Actor*>{&a, &b, &story.transfer}) stage.add(*actor);
  const auto is_over = [&] { return source.is_idle() && sink.is_idle(); };
  EXPECT_EQ(stage.run_until(is_over, story.network.now() + 5_s), StageEnd::Reached);
  EXPECT_EQ(HeapWatch::allocation_count() - before, 0u);
  EXPECT_TRUE(is_done(source) && is_done(sink));
  story.a.neglect(false);
  story.b.neglect(false);
  story.run_faults(100_ms);
  EXPECT_FALSE(story.a.endpoint().wants_care());
}

/// The one before hears at both ends by when it is to settle, the next what it has to spend.
TEST(Swap, tells_both_what_they_need_to_know) {
  scribe() = {};
  const WireScript script;
  SiteOptions site = roomy_site(scribe_policy());
  site.send.hold = 1_s;
  Pair pair({.a = site, .b = site}, script);
  ASSERT_TRUE(pair.run_until([&] { return pair.are_up(); }, 3_s));
  pair.run_for(100_ms);
  EXPECT_TRUE(scribe().source().drains.empty());
  const size_t links = scribe().source().links.size(), budgets = scribe().source().budgets.size();
  const Instant ordered = pair.network().now();
  swap(pair, scribe_policy());
  ASSERT_TRUE(pair.run_until([&] { return has_swapped(pair); }, 1_s));
  for (const auto* drains : {&scribe().source().drains, &scribe().sink().drains}) {
    ASSERT_EQ(drains->size(), 1u);
    EXPECT_GT(drains->front(), (ordered + 1_s).ns());
    EXPECT_LT(drains->front(), (ordered + 1500_ms).ns());
  }
  EXPECT_GT(scribe().source().links.size(), links);
  pair.run_for(100_ms);
  EXPECT_GT(scribe().source().budgets.size(), budgets);
}

/// What cannot come is given up when its time is over, and the rest of the stream goes on.
TEST(Swap, waits_for_the_policy_before_no_longer_than_frames_are_held) {
  WireScript to_b;
  bool is_deaf = false;
  to_b.data = [&](const Packet&) { return is_deaf ? Fate::Lose : Fate::Pass; };
  PairOptions options = slots_pair_under(cw_policy_selective_repeat(), 0);
  options.a.send.hold = options.b.send.hold = 1_s;
  SlotsWorld world(options, to_b);
  ASSERT_TRUE(world.comes_up());
  Prng prng(3);
  is_deaf = true;
  ASSERT_TRUE(world.appends(100, prng, 1_s));
  world.source.close(world.sends());
  swap(world.pair, cw_policy_hybrid());
  EXPECT_FALSE(world.pair.run_until([&] { return has_swapped(world.pair); }, 900_ms));
  EXPECT_TRUE(world.pair.run_until([&] { return has_swapped(world.pair); }, 600_ms));
  EXPECT_EQ(world.sink->arrived_count(), 0u);
  is_deaf = false;
  ASSERT_TRUE(world.appends(500, prng, 5_s));
  EXPECT_TRUE(world.pair.run_until(
      [&] { return world.sink->arrived_count() == world.source.appended() - 100; }, 5_s));
  EXPECT_EQ(world.sink->complaint(), "");
}

TEST(Swap, waits_for_the_one_before) {
  SlotsWorld world(slots_pair_under(cw_policy_selective_repeat(), 0));
  ASSERT_TRUE(world.comes_up());
  swap(world.pair, cw_policy_hybrid());
  const auto more = order(world.pair, cw_policy_erasure());
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().sentence,
            "a swap to hybrid/1 is under way, and another can begin when it is over");
  EXPECT_TRUE(world.pair.run_until([&] { return has_swapped(world.pair); }, 1_s));
  expect_under(world.pair, cw_policy_hybrid());
}

/// The receiver of data has its wish as well, and where both have one the sender's stands.
TEST(Swap, may_be_ordered_at_either_end_and_at_both) {
  for (const Duration apart : {0_ms, 5_ms, 15_ms, 30_ms}) {
    for (const bool sends_too : {false, true}) {
      SCOPED_TRACE(std::to_string(apart.ns()) + (sends_too ? " both" : ""));
      SlotsWorld world(slots_pair_under(cw_policy_selective_repeat(), 0));
      ASSERT_TRUE(world.comes_up());
      ASSERT_TRUE(
          world.pair.b->link().order_swap(0, CW_SINK, named(cw_policy_go_back_n()), world.now()));
      world.pair.run_for(apart);
      const bool is_taken = sends_too && order(world.pair, cw_policy_hybrid());
      if (sends_too) {
        EXPECT_EQ(is_taken, apart < 10_ms);
      }
      Prng prng(5);
      ASSERT_TRUE(world.appends(500, prng, 5_s));
      world.source.close(world.sends());
      EXPECT_TRUE(world.pair.run_until([&] { return has_swapped(world.pair); }, 1_s));
      expect_under(world.pair, is_taken ? cw_policy_hybrid() : cw_policy_go_back_n());
      EXPECT_TRUE(world.all_arrive(1_s));
      EXPECT_EQ(world.sink->complaint(), "");
    }
  }
}

// ---- epochs ----

/// The sender wishes the new one from then on, and the receiver's next life can do it.
TEST(Swap, is_forgotten_with_its_epoch_and_its_policy_is_not) {
  PairOptions options{.a = roomy_site(cw_policy_selective_repeat()),
                      .b = roomy_site(cw_policy_selective_repeat())};
  options.b.policies = {choice_of(cw_policy_hybrid())};
  const WireScript script;
  Pair pair(options, script);
  ASSERT_TRUE(pair.delivers(20, 3_s));
  swap(pair, cw_policy_hybrid());
  ASSERT_TRUE(
      pair.run_until([&] { return source_end(pair).state() == sdr::SwapState::Draining; }, 1_s));
  pair.restart_receiver();
  ASSERT_TRUE(pair.delivers(50, 5_s));
  EXPECT_EQ(epochs(*pair.a), 2u);
  EXPECT_TRUE(is_over(pair));
  expect_under(pair, cw_policy_hybrid());
  EXPECT_EQ(pair.a->send_stream().seat().current().policy_epoch(), 0);
  EXPECT_EQ(pair.courier().complaint(), "");
}

/// Of a policy that is known in two versions, the one that a swap brought stays.
TEST(Swap, to_a_newer_version_outlives_its_epoch_at_the_sink) {
  static const cw_policy_ops newer = *cw_policy_hybrid();
  PairOptions options{.a = roomy_site(cw_policy_hybrid()), .b = roomy_site(cw_policy_hybrid())};
  options.b.knows.insert(options.b.knows.begin(), &newer);
  const WireScript script;
  Pair pair(options, script);
  ASSERT_TRUE(pair.delivers(20, 3_s));
  const auto at_sink = [&] { return pair.b->recv_stream().seat().policy().ops; };
  EXPECT_EQ(at_sink(), cw_policy_hybrid());
  swap(pair, cw_policy_hybrid());
  ASSERT_TRUE(pair.run_until([&] { return has_swapped(pair); }, 1_s));
  EXPECT_EQ(at_sink(), &newer);
  pair.a->link().leave(pair.network().now());
  ASSERT_TRUE(pair.run_until([&] { return !pair.b->is_up(); }, 1_s));
  pair.restart_sender();
  ASSERT_TRUE(pair.run_until([&] { return pair.are_up(); }, 5_s));
  EXPECT_EQ(at_sink(), &newer);
}

// ---- ends that want different policies ----

/// Under one policy, with another that it can do besides.
SiteOptions site_wishing(const cw_policy_ops* policy, const cw_policy_ops* other) {
  SiteOptions site = roomy_site(policy);
  site.policies = {choice_of(other)};
  return site;
}

TEST(Seats, of_each_direction_are_the_senders_if_the_receiver_can) {
  const cw_policy_ops* const coded = cw_policy_hybrid();
  const cw_policy_ops* const plain = cw_policy_go_back_n();
  const WireScript script;
  Pair pair({.a = site_wishing(coded, plain), .b = site_wishing(plain, coded)}, script);
  ASSERT_TRUE(pair.delivers(50, 3_s));
  expect_under(pair, coded);
  EXPECT_EQ(pair.b->send_stream().seat().policy().ops, plain);
  EXPECT_EQ(pair.a->recv_stream().seat().policy().ops, plain);
  EXPECT_EQ(pair.b->send_stream().seat().wish().ops, plain);
  for (int life = 0; life < 3; ++life) {
    pair.restart_receiver();
    ASSERT_TRUE(pair.delivers(50, 3_s));
    expect_under(pair, coded);
  }
  EXPECT_EQ(pair.courier().complaint(), "");
}

TEST(Seats, take_the_senders_parameters) {
  SiteOptions a = roomy_site(cw_policy_selective_repeat()), b = a;
  const auto& declared = *cw_policy_selective_repeat();
  for (uint32_t i = 0; i < declared.param_count; ++i) {
    a.policy_params.push_back(declared.params[i].max);
  }
  const WireScript script;
  Pair pair({.a = a, .b = b}, script);
  ASSERT_TRUE(pair.run_until([&] { return pair.are_up(); }, 3_s));
  const auto params = pair.b->recv_stream().seat().policy().params;
  EXPECT_TRUE(std::ranges::equal(params, a.policy_params));
  EXPECT_FALSE(std::ranges::equal(pair.b->send_stream().seat().policy().params, params));
}

TEST(Seats, of_ends_that_have_no_policy_in_common_keep_the_link_down) {
  const WireScript script;
  Pair pair({.a = roomy_site(cw_policy_go_back_n()), .b = roomy_site(cw_policy_hybrid())}, script);
  EXPECT_FALSE(pair.run_until([&] { return pair.a->is_up() || pair.b->is_up(); }, 1_s));
  EXPECT_EQ(pair.a->link().why(),
            "qp 0: its sender is to run go_back_n/2 and its receiver hybrid/1, and there is no "
            "policy that both can: name one in both");
}

TEST(Seats, that_nobody_cares_for_keep_the_link_down_until_somebody_does) {
  const WireScript script;
  Pair pair(reliable_pair(), script);
  ASSERT_TRUE(pair.delivers(20, 3_s));
  pair.a->neglect(true);
  pair.restart_receiver();
  EXPECT_FALSE(pair.run_until([&] { return pair.a->is_up() && epochs(*pair.a) == 2; }, 3_s));
  EXPECT_EQ(pair.a->link().why(), "its policies are being made");
  pair.a->neglect(false);
  EXPECT_TRUE(pair.delivers(20, 3_s));
  EXPECT_EQ(pair.courier().complaint(), "");
}

}  // namespace
}  // namespace cw::sim
