// A trace of what the policies of a stream are told and decide: begun while slots fly, whole until
// it ends, and the same when it is played again.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>

#include "control/trace/replaying.h"
#include "control/trace/trace_document.h"
#include "dataplane/sdr/link/trace/stream_trace.h"
#include "dataplane/sdr/seat/care/policy_finder.h"
#include "tests/sim/sdr/swap_world.h"

namespace cw::sim {
namespace {
using namespace literals;
using sdr::PolicyTrace;
using sdr::TraceState;

constexpr size_t bytes_max = 4 << 20;

std::shared_ptr<PolicyTrace> new_trace(size_t bytes = bytes_max) {
  return std::make_shared<PolicyTrace>(bytes);
}

/// As it is, played by the policy that it names.
Result<trace::ReplayReport> replayed(const PolicyTrace& its) {
  sdr::ListedPolicies policies(policy::for_streams());
  const auto find = [&](const std::string& name) { return policies.find(name); };
  return trace::replay(trace::stream_trace_of(its), {}, find, [](const std::string&) {});
}

void expect_same(const PolicyTrace& its, uint64_t facts_min) {
  const auto report = replayed(its);
  ASSERT_TRUE(report) << report.error().sentence;
  EXPECT_EQ(report->differences, 0u) << "call " << report->first_difference;
  EXPECT_GE(report->facts, facts_min);
}

/// Both ends of a stream; the policies that begin next are traced.
struct TracedWorld {
  explicit TracedWorld(const PairOptions& options) : world(options) {}

  Result<void> begin() {
    source = new_trace();
    sink = new_trace();
    Pair& pair = world.pair;
    const Instant now = pair.network().now();
    (void)sdr::begin_trace(pair.a->link(), 0, CW_SOURCE, source, now);
    return sdr::begin_trace(pair.b->link(), 0, CW_SINK, sink, now);
  }
  bool have_begun() {
    return world.pair.run_until(
        [&] {
          return source->state() != TraceState::Waiting && sink->state() != TraceState::Waiting;
        },
        2_s);
  }
  void end() {
    source->end(TraceState::Asked);
    sink->end(TraceState::Asked);
    sdr::forget_trace(world.pair.a->link(), 0, CW_SOURCE, *source);
    sdr::forget_trace(world.pair.b->link(), 0, CW_SINK, *sink);
  }

  SlotsWorld world;
  std::shared_ptr<PolicyTrace> source, sink;
};

class TraceOf : public testing::TestWithParam<const cw_policy_ops*> {};

TEST_P(TraceOf, a_stream_that_runs_is_decided_in_the_same_way_again) {
  const bool repairs = GetParam() != cw_policy_passthrough();
  for (const uint64_t seed : {1, 2, 3}) {
    PairOptions options = slots_pair_under(GetParam(), repairs ? 0.02 : 0);
    options.seed = seed;
    TracedWorld traced(options);
    SlotsWorld& world = traced.world;
    ASSERT_TRUE(world.comes_up());
    Prng prng(seed);
    ASSERT_TRUE(world.appends(700, prng, 5_s));
    (void)traced.begin();
    ASSERT_TRUE(traced.have_begun());
    ASSERT_TRUE(world.appends(1500, prng, 10_s));
    EXPECT_TRUE(world.all_arrive(5_s));
    traced.end();
    EXPECT_EQ(traced.source->state(), TraceState::Asked);
    EXPECT_EQ(traced.sink->state(), TraceState::Asked);
    expect_same(*traced.source, 500);
    expect_same(*traced.sink, 500);
    const size_t bytes = traced.source->bytes().size();
    ASSERT_TRUE(world.appends(100, prng, 5_s));
    EXPECT_EQ(traced.source->bytes().size(), bytes) << "who has enough is told no more";
    EXPECT_EQ(world.sink->complaint(), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, TraceOf, testing::ValuesIn(policy::for_streams()),
                         [](const auto& each) { return std::string(each.param->name); });

TEST(Trace, asked_for_while_the_link_is_down_begins_with_it) {
  TracedWorld traced(slots_pair_under(cw_policy_hybrid(), 0.01));
  const auto begun = traced.begin();
  ASSERT_FALSE(begun);
  EXPECT_EQ(begun.error().sentence.find("the link is down: "), 0u) << begun.error().sentence;
  ASSERT_TRUE(traced.world.comes_up());
  EXPECT_EQ(traced.source->state(), TraceState::Running);
  Prng prng(1);
  ASSERT_TRUE(traced.world.appends(500, prng, 5_s));
  expect_same(*traced.source, 100);
  expect_same(*traced.sink, 100);
}

TEST(Trace, of_a_policy_that_is_replaced_ends_with_it) {
  TracedWorld traced(slots_pair_under(cw_policy_selective_repeat(), 0.01));
  SlotsWorld& world = traced.world;
  ASSERT_TRUE(world.comes_up());
  (void)traced.begin();
  ASSERT_TRUE(traced.have_begun());
  Prng prng(1);
  ASSERT_TRUE(world.appends(500, prng, 5_s));
  ASSERT_TRUE(world.pair.run_until([&] { return is_over(world.pair); }, 2_s));
  swap(world.pair, cw_policy_go_back_n());
  ASSERT_TRUE(world.appends(500, prng, 5_s));
  world.source.close(world.sends());
  ASSERT_TRUE(world.pair.run_until([&] { return has_swapped(world.pair); }, 2_s));
  world.pair.run_for(1_s);
  EXPECT_EQ(traced.source->state(), TraceState::Replaced);
  EXPECT_EQ(traced.sink->state(), TraceState::Replaced);
  expect_same(*traced.source, 200);
  expect_same(*traced.sink, 200);
}

TEST(Trace, ends_when_the_link_begins_anew) {
  TracedWorld traced(slots_pair_under(cw_policy_hybrid(), 0.01));
  ASSERT_TRUE(traced.world.comes_up());
  (void)traced.begin();
  ASSERT_TRUE(traced.have_begun());
  Pair& pair = traced.world.pair;
  pair.restart_b();
  EXPECT_TRUE(pair.run_until([&] { return epochs(*pair.a) == 2; }, 5_s));
  EXPECT_EQ(traced.source->state(), TraceState::Replaced);
  expect_same(*traced.source, 1);
}

TEST(Trace, of_a_stream_without_that_direction_is_refused) {
  TracedWorld traced(slots_pair_under(cw_policy_hybrid(), 0));
  ASSERT_TRUE(traced.world.comes_up());
  const auto none =
      sdr::begin_trace(traced.world.pair.a->link(), 7, CW_SOURCE, new_trace(), Instant());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().sentence, "the stream has no such direction");
}

TEST(Trace, that_nobody_waits_for_any_more_does_not_begin) {
  TracedWorld traced(slots_pair_under(cw_policy_hybrid(), 0));
  (void)traced.begin();  // the link is down
  traced.end();
  ASSERT_TRUE(traced.world.comes_up());
  Prng prng(1);
  ASSERT_TRUE(traced.world.appends(100, prng, 5_s));
  EXPECT_EQ(traced.source->state(), TraceState::Asked);
  EXPECT_TRUE(traced.source->bytes().empty());
  EXPECT_EQ(traced.source.use_count(), 1) << "who is over keeps no memory";
}

// What was ordered, and who ordered it, is as it was before; at the other end, too.
TEST(Trace, changes_nothing_about_who_wanted_the_policy) {
  TracedWorld traced(slots_pair_under(cw_policy_selective_repeat(), 0.01));
  SlotsWorld& world = traced.world;
  ASSERT_TRUE(world.comes_up());
  swap(world.pair, cw_policy_hybrid());
  ASSERT_TRUE(world.pair.run_until([&] { return has_swapped(world.pair); }, 2_s));
  const auto told = [&](const sdr::SwapEnd& end) {
    const sdr::SwapReport& report = end.report();
    return std::tuple(report.id, report.is_ours, report.fate, report.begun, report.over,
                      std::string(report.policy.name.view()));
  };
  const auto at_source = told(source_end(world.pair)), at_sink = told(sink_end(world.pair));
  Prng prng(1);
  for (int round = 0; round < 3; ++round) {
    (void)traced.begin();
    ASSERT_TRUE(world.pair.run_until(
        [&] {
          EXPECT_EQ(told(source_end(world.pair)), at_source);
          EXPECT_EQ(told(sink_end(world.pair)), at_sink);
          return traced.source->state() == TraceState::Running &&
                 traced.sink->state() == TraceState::Running;
        },
        2_s));
    ASSERT_TRUE(world.appends(300, prng, 5_s));
    world.source.close(world.sends());
    ASSERT_TRUE(world.pair.run_until([&] { return is_over(world.pair); }, 2_s));
    traced.end();
  }
  EXPECT_EQ(told(source_end(world.pair)), at_source);
  EXPECT_EQ(told(sink_end(world.pair)), at_sink);
  swap(world.pair, cw_policy_erasure());
  world.source.close(world.sends());
  ASSERT_TRUE(world.pair.run_until([&] { return has_swapped(world.pair); }, 2_s));
  EXPECT_NE(told(source_end(world.pair)), at_source);
  expect_under(world.pair, cw_policy_erasure());
}

TEST(Trace, of_a_policy_that_is_put_in_quarantine_says_so) {
  PairOptions options = slots_pair_under(Greedy::policy(), 0);
  for (SiteOptions* site : {&options.a, &options.b}) site->knows.push_back(Greedy::policy());
  TracedWorld traced(options);
  SlotsWorld& world = traced.world;
  ASSERT_TRUE(world.comes_up());
  (void)traced.begin();
  ASSERT_TRUE(traced.have_begun());
  Prng prng(1);
  ASSERT_TRUE(world.appends(100, prng, 5_s));
  Greedy::is_mad = true;
  EXPECT_TRUE(world.pair.run_until(
      [&] { return world.count_at_a(Counter::policies_quarantined) > 0; }, 2_s));
  Greedy::is_mad = false;
  EXPECT_EQ(traced.source->state(), TraceState::Quarantined);
  EXPECT_GT(traced.source->bytes().size(), 1000u) << "and what it did is in it";
  const auto again =
      sdr::begin_trace(world.pair.a->link(), 0, CW_SOURCE, new_trace(), world.pair.network().now());
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().sentence.find("its policy is in quarantine"), 0u);
}

TEST(Trace, with_little_room_is_full_and_whole_as_far_as_it_goes) {
  TracedWorld traced(slots_pair_under(cw_policy_hybrid(), 0.02));
  SlotsWorld& world = traced.world;
  ASSERT_TRUE(world.comes_up());
  const auto little = new_trace(3000);
  (void)sdr::begin_trace(world.pair.a->link(), 0, CW_SOURCE, little, world.pair.network().now());
  Prng prng(1);
  ASSERT_TRUE(world.appends(1500, prng, 5_s));
  EXPECT_EQ(little->state(), TraceState::Full);
  EXPECT_GT(little->bytes().size(), 2800u);
  EXPECT_LE(little->bytes().size(), 3000u);
  expect_same(*little, 50);
}

}  // namespace
}  // namespace cw::sim
