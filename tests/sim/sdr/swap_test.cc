// One policy takes over from another at a boundary, while packets fly.
#include <gtest/gtest.h>

#include <map>

#include "dataplane/sdr/stream/recv/recv_stream.h"
#include "dataplane/sdr/stream/send/send_stream.h"
#include "offload/codec/codecs.h"
#include "tests/sim/sdr/coding_world.h"
#include "tests/sim/sdr/scribe.h"
#include "tests/sim/sdr/slots_world.h"
#include "tests/sim/sdr/watched_site.h"

namespace cw::sim {
namespace {
using namespace literals;

/// Its parameters have their defaults.
sdr::PolicyChoice choice_of(const cw_policy_ops* policy) {
  static std::map<const cw_policy_ops*, std::vector<double>> params;
  if (!params.contains(policy)) {
    for (uint32_t i = 0; i < policy->param_count; ++i) {
      params[policy].push_back(policy->params[i].initial);
    }
  }
  return {policy, params[policy]};
}

/// A site under one of the policies, with room for the blocks of all of them.
SiteOptions roomy_site(const cw_policy_ops* policy) {
  SiteOptions site = site_under(policy);
  site.stream.messages = 8;
  site.stream.data_slots_max = 1024;
  for (const cw_policy_ops* each : policy::all()) {
    const auto needs = sdr::needs_of(choice_of(each), site.stream, {.rtt = 20_ms});
    site.stream = sdr::coded(site.stream, needs, code::all());
  }
  return site;
}

PairOptions slots_pair_under(const cw_policy_ops* policy, double loss) {
  SiteOptions site = roomy_site(policy);
  site.send.slot_by_slot = true;
  site.send.block_age = 1_ms;
  return {.a = site, .b = site, .wire = {.loss = loss, .delay = 10_ms}};
}

struct Orders {
  sdr::Swap to, from;  // of the receiving end, of the sending one
};

/// What both ends are given, as two controls would have agreed on it.
Orders orders_for(Site& sender, Site& receiver, const cw_policy_ops* policy, Instant now,
                  uint16_t policy_epoch = 1) {
  const sdr::SendStream& stream = sender.send_stream();
  const MessageSeq boundary = stream.next_seq() + 1 + stream.config().messages / 2;
  const auto swap = [&](Site& site, cw_role role) {
    auto next = site.link().make_successor(0, role, choice_of(policy), now);
    EXPECT_TRUE(next) << next.error().sentence;
    return sdr::Swap{std::move(*next), boundary, policy_epoch, now + 2_s};
  };
  return {swap(receiver, CW_SINK), swap(sender, CW_SOURCE)};
}

/// The receiving end begins, and the other when it has heard of it.
void swap(Pair& pair, const cw_policy_ops* policy, uint16_t policy_epoch = 1,
          Duration apart = 10_ms) {
  const auto now = [&] { return pair.network().now(); };
  Orders orders = orders_for(*pair.a, *pair.b, policy, now(), policy_epoch);
  ASSERT_TRUE(pair.b->link().try_begin_swap(0, CW_SINK, orders.to, now()));
  pair.run_for(apart);
  ASSERT_TRUE(pair.a->link().try_begin_swap(0, CW_SOURCE, orders.from, now()));
}

bool has_swapped(Pair& pair) {
  return !pair.a->send_stream().seat().is_swapping() && !pair.b->recv_stream().seat().is_swapping();
}

void expect_under(Pair& pair, const cw_policy_ops* policy) {
  const std::string name = policy->name;
  EXPECT_EQ(pair.a->send_stream().seat().current().table().name, name);
  EXPECT_EQ(pair.b->recv_stream().seat().current().table().name, name);
}

uint64_t epochs(Site& site) { return count(site, Counter::epochs); }

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
                         testing::Combine(testing::ValuesIn(policy::all()),
                                          testing::ValuesIn(policy::all())),
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
    swap(world.pair, next, i);
    ASSERT_TRUE(world.appends(100 + static_cast<uint32_t>(prng.below(400)), prng, 10_s));
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
    for (const cw_policy_ops* after : policy::all()) {
      SCOPED_TRACE(after->name);
      SiteOptions site = roomy_site(cw_policy_selective_repeat());
      site.has_rnic = has_rnic;
      World world(site, {.messages = 200,
                         .bytes_of = [](uint64_t i) { return i * 7919 % 200'000; },
                         .posted = 8});
      ASSERT_TRUE(world.pair.run_until([&] { return world.transfer.received_count() >= 20; }, 5_s));
      swap(world.pair, after, 1, Duration());
      EXPECT_TRUE(world.is_done_within(60_s));
      EXPECT_EQ(world.complaint(), "");
      EXPECT_EQ(world.transfer.whole_count(), 200u);
      EXPECT_TRUE(has_swapped(world.pair));
      expect_under(world.pair, after);
    }
  }
}

/// What it takes was made before, and what is over waits for whoever destroys it.
TEST(Swap, allocates_nothing_in_a_turn) {
  Story story({.site = roomy_site(cw_policy_hybrid()),
               .transfer = {.messages = 1'000'000,
                            .bytes_of = [](uint64_t i) { return i * 7919 % 100'000; }},
               .wire = {.loss = 0.01, .delay = 1_ms}});
  story.run_faults(200_ms);
  ASSERT_TRUE(story.a.is_up() && story.b.is_up());
  story.a.neglect(true);
  story.b.neglect(true);
  Orders orders = orders_for(story.a, story.b, cw_policy_selective_repeat(), story.network.now());
  const uint64_t before = HeapWatch::allocation_count();
  {
    HeapWatch watch;
    EXPECT_TRUE(story.b.link().try_begin_swap(0, CW_SINK, orders.to, story.network.now()));
    EXPECT_TRUE(story.a.link().try_begin_swap(0, CW_SOURCE, orders.from, story.network.now()));
  }
  WatchedSite a(story.a), b(story.b);
  Stage stage(story.network, 1);
  for (Actor* actor : std::initializer_list<Actor*>{&a, &b, &story.transfer}) stage.add(*actor);
  const auto is_over = [&] {
    return !story.a.send_stream().seat().is_swapping() &&
           !story.b.recv_stream().seat().is_swapping();
  };
  EXPECT_EQ(stage.run_until(is_over, story.network.now() + 5_s), StageEnd::Reached);
  EXPECT_EQ(HeapWatch::allocation_count() - before, 0u);
  story.a.neglect(false);
  story.b.neglect(false);
  story.run_faults(100_ms);
  EXPECT_FALSE(story.a.endpoint().wants_care());
}

/// The one before hears at both ends by when it is to settle, the next what it has to spend.
TEST(Swap, tells_both_what_they_need_to_know) {
  scribe() = {};
  const WireScript script;
  const SiteOptions site = roomy_site(scribe_policy());
  Pair pair({.a = site, .b = site}, script);
  ASSERT_TRUE(pair.run_until([&] { return pair.are_up(); }, 3_s));
  pair.run_for(100_ms);
  EXPECT_TRUE(scribe().source().drains.empty());
  const size_t links = scribe().source().links.size(), budgets = scribe().source().budgets.size();
  const Instant by = pair.network().now() + 2_s;
  swap(pair, scribe_policy(), 1, Duration());
  EXPECT_EQ(scribe().source().drains, std::vector<int64_t>{by.ns()});
  EXPECT_EQ(scribe().sink().drains, std::vector<int64_t>{by.ns()});
  EXPECT_GT(scribe().source().links.size(), links);
  pair.run_for(100_ms);
  EXPECT_GT(scribe().source().budgets.size(), budgets);
}

/// What cannot come is given up when its time is over, and the rest of the stream goes on.
TEST(Swap, gives_up_what_the_policy_before_does_not_settle) {
  WireScript to_b;
  bool is_deaf = false;
  to_b.data = [&](const Packet&) { return is_deaf ? Fate::Lose : Fate::Pass; };
  SlotsWorld world(slots_pair_under(cw_policy_selective_repeat(), 0), to_b);
  ASSERT_TRUE(world.comes_up());
  Prng prng(3);
  is_deaf = true;
  ASSERT_TRUE(world.appends(100, prng, 1_s));
  world.source.close(world.sends());
  swap(world.pair, cw_policy_hybrid());
  EXPECT_FALSE(world.pair.run_until([&] { return has_swapped(world.pair); }, 1_s));
  EXPECT_TRUE(world.pair.run_until([&] { return has_swapped(world.pair); }, 1500_ms));
  EXPECT_EQ(world.sink->arrived_count(), 0u);
  is_deaf = false;
  ASSERT_TRUE(world.appends(500, prng, 5_s));
  EXPECT_TRUE(world.pair.run_until(
      [&] { return world.sink->arrived_count() == world.source.appended() - 100; }, 5_s));
  EXPECT_EQ(world.sink->complaint(), "");
}

/// One end has changed against the rules, long before the other: what it says is not understood.
TEST(Swap, drops_notes_for_a_policy_that_is_not_here) {
  const WireScript script;
  const SiteOptions site = roomy_site(cw_policy_selective_repeat());
  Pair pair({.a = site, .b = site}, script);
  ASSERT_TRUE(pair.delivers(20, 3_s));
  Orders orders =
      orders_for(*pair.a, *pair.b, cw_policy_selective_repeat(), pair.network().now(), 7);
  ASSERT_TRUE(pair.b->link().try_begin_swap(0, CW_SINK, orders.to, pair.network().now()));
  pair.run_for(500_ms);
  EXPECT_GT(pair.dropped_at_a(DropReason::note_policy), 0u);
  EXPECT_EQ(pair.dropped_at_b(DropReason::note_policy), 0u);
}

TEST(Swap, waits_for_the_one_before) {
  SlotsWorld world(slots_pair_under(cw_policy_selective_repeat(), 0));
  ASSERT_TRUE(world.comes_up());
  swap(world.pair, cw_policy_hybrid());
  Orders more = orders_for(*world.pair.a, *world.pair.b, cw_policy_erasure(), world.now(), 2);
  EXPECT_FALSE(world.pair.a->link().try_begin_swap(0, CW_SOURCE, more.from, world.now()));
  EXPECT_FALSE(world.pair.b->link().try_begin_swap(0, CW_SINK, more.to, world.now()));
  EXPECT_TRUE(world.pair.run_until([&] { return has_swapped(world.pair); }, 1_s));
  expect_under(world.pair, cw_policy_hybrid());
}

/// A policy that needs larger blocks than the stream has room for changes nothing.
TEST(Swap, needs_room_for_the_blocks_of_the_next) {
  SiteOptions site = site_under(cw_policy_erasure());
  const cw_policy_limits needs{.k = 8, .rows = 1, .m_cap = 2};
  site.stream = sdr::coded(site.stream, needs, code::all());
  site.policy = cw_policy_selective_repeat();
  const WireScript script;
  Pair pair({.a = site, .b = site}, script);
  const auto next = pair.a->link().make_successor(0, CW_SOURCE, choice_of(cw_policy_erasure()),
                                                  pair.network().now());
  ASSERT_FALSE(next);
  EXPECT_NE(next.error().sentence.find("needs blocks of"), std::string::npos)
      << next.error().sentence;
  EXPECT_TRUE(pair.delivers(20, 3_s));
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
  swap(pair, cw_policy_hybrid(), 1, Duration());
  pair.restart_receiver();
  ASSERT_TRUE(pair.delivers(50, 5_s));
  EXPECT_EQ(epochs(*pair.a), 2u);
  EXPECT_TRUE(has_swapped(pair));
  expect_under(pair, cw_policy_hybrid());
  EXPECT_EQ(pair.a->send_stream().seat().current().policy_epoch(), 0);
  EXPECT_EQ(pair.courier().complaint(), "");
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
