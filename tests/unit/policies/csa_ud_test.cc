// csa_ud's own: when it asks, how much at once, and what it does when it was hasty.
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "dataplane/base/prng.h"
#include "policies/policies.h"
#include "tests/unit/policies/endpoint_world.h"

namespace cw::policy_test {
namespace {
using namespace literals;

/// A tick of the wheel that keeps the instance's timer.
constexpr Duration tick = 9_us;

EndpointWorld world_of(Surroundings around) {
  return EndpointWorld(*cw_policy_csa_ud(), std::move(around), *cw_policy_passthrough());
}

/// When it was first asked for this slot; never() when it was not.
Instant asked_at(const EndpointWorld& world, uint32_t message, uint32_t slot) {
  for (const auto& [ask, at, missing] : world.asks) {
    if (ask.message == message && ask.first <= slot && slot < ask.first + ask.count) return at;
  }
  return Instant::never();
}

/// A step of one message, and of another of which `left` slots are to come and nothing comes. Slot
/// 1 of the first is lost, and all behind slot 2.
struct Hole {
  uint32_t slots = 100, left = 0;
  Duration deadline = Duration::max();  // after the step was posted
  std::map<std::string, double> params = {};

  /// From when slot 2 has come until slot 1 is asked for.
  Duration wait() {
    params.emplace("outstanding_least", 4096);  // the end of the message is asked for as well
    EndpointWorld it = world_of(
        {.is_lost = [](const Datagram& d) { return d.slot == 1 || d.slot > 2; }, .params = params});
    std::vector<Sending> list = {{.message = 0, .peer = 0, .slots = slots, .begins = it.now}};
    if (left > 0) list.push_back({.message = 1, .peer = 1, .slots = left});
    it.open_step(1, list, deadline == Duration::max() ? Instant::never() : it.now + deadline);
    it.send(list[0]);
    const Instant shown = it.now + it.around.rtt / 2 + it.slot_time() * 3;
    it.run_for(2_ms);
    return asked_at(it, 0, 1) - shown;
  }
};

void expect_about(Duration wait, Duration wanted) {
  EXPECT_GE(wait, wanted - 1_us) << wait.us() << " us";
  EXPECT_LE(wait, wanted + tick) << wait.us() << " us";
}

// S = 100 us, V = 5 us, Q = 10 us, and a slot's 4096 bytes take 3.277 us at the step's rate. When
// the hole shows, all but one slot are to come and one is missing:
//   slack = (slots + left - 1) x 3.277 us - (100 us + 3.277 us).
TEST(CsaUd, a_hole_waits_for_half_of_the_slack) {
  expect_about(Hole{.slots = 60}.wait(), 45_us);  // (193.3 - 103.3) / 2
  expect_about(Hole{.slots = 40}.wait(), 12_us);  // (127.8 - 103.3) / 2
  expect_about(Hole{.slots = 40, .left = 20}.wait(), 45_us);
}

TEST(CsaUd, a_hole_waits_no_longer_than_a_round_trip_and_no_shorter_than_the_reorder_budget) {
  expect_about(Hole{.slots = 100, .left = 400}.wait(), 100_us);
  expect_about(Hole{.slots = 20}.wait(), 10_us);
}

TEST(CsaUd, a_deadline_takes_the_slack_of_a_step) {
  // 230 us - 60.1 us until the hole shows, less 103.3 us.
  expect_about(Hole{.slots = 500, .deadline = 230_us}.wait(), 33_us);
  expect_about(Hole{.slots = 500, .deadline = 70_us}.wait(), 10_us);
}

TEST(CsaUd, behind_the_last_slot_of_a_message_nothing_is_waited_for_but_reordering) {
  expect_about(Hole{.slots = 3, .left = 400}.wait(), 10_us);
}

TEST(CsaUd, its_constants_are_parameters) {
  expect_about(Hole{.slots = 60, .params = {{"patience", 1}}}.wait(), 90_us);
  expect_about(Hole{.slots = 20, .params = {{"reorder_budget", 30e3}}}.wait(), 30_us);
  expect_about(Hole{.left = 400, .params = {{"hole_wait_max", 0.5}}}.wait(), 50_us);
}

TEST(CsaUd, what_does_not_come_is_asked_for_again_at_doubling_times) {
  EndpointWorld it = world_of({.is_lost = [](const Datagram& d) { return d.slot == 1; }});
  const Sending sending{.message = 0, .peer = 0, .slots = 3, .begins = it.now};
  it.open_step(1, {sending});
  it.send(sending);
  it.run_for(300_ms);
  ASSERT_GE(it.asks.size(), 12u);
  Duration wanted = 160_us;  // S + 12 V
  for (size_t i = 1; i < 12; ++i, wanted = std::min(wanted * 2, 64_ms))
    expect_about(it.asks[i].at - it.asks[i - 1].at, wanted);
}

TEST(CsaUd, the_end_of_a_message_is_asked_for_when_nothing_has_come_for_an_answers_time) {
  EndpointWorld it = world_of(
      {.is_lost = [](const Datagram& d) { return d.attempt == 0 && d.peer == 2 && d.slot >= 30; }});
  it.run_step(1, 4, 40);
  ASSERT_FALSE(it.asks.empty());
  EXPECT_EQ(it.asks[0].ask.first, 30u);
  EXPECT_EQ(it.asks[0].ask.count, 10u);
  const Duration pace = it.slot_time() * 4 * 11 / 10;
  const Instant last = Instant::from_ns(1'000'000) + 50_us + pace * 29 + it.slot_time() * 3;
  expect_about(it.asks[0].at - last, 170_us);  // S + 12 V + Q
}

// ---- who is silent ----

/// Eight sources, one after the other, of which each begins when the one before is done, or a
/// little later; the last loses all of it so many times.
std::unique_ptr<EndpointWorld> run_in_turns(Duration late, uint32_t last_lost) {
  auto made = std::make_unique<EndpointWorld>(
      *cw_policy_csa_ud(),
      Surroundings{
          .is_lost = [=](const Datagram& d) { return d.peer == 7 && d.attempt < last_lost; }},
      *cw_policy_passthrough());
  EndpointWorld& it = *made;
  std::vector<Sending> list;
  for (uint32_t peer = 0; peer < 8; ++peer) {
    const Duration before = it.slot_time() * 50 * peer;
    list.push_back({peer, peer, 50, it.now + before + late * int64_t{peer}, {}});
  }
  it.open_step(1, list);
  for (const Sending& each : list) it.send(each);
  it.run();
  EXPECT_EQ(it.finished.size(), 8u);
  return made;
}

TEST(CsaUd, nobody_is_asked_as_long_as_the_line_is_used) {
  for (const Duration late : {0_us, 20_us, 90_us}) {
    EXPECT_TRUE(run_in_turns(late, 0)->asks.empty()) << late.us();
  }
}

TEST(CsaUd, who_is_left_is_asked_when_nothing_has_come_for_a_round_trip) {
  const auto ran = run_in_turns(0_us, 1);
  const EndpointWorld& it = *ran;
  ASSERT_FALSE(it.asks.empty());
  EXPECT_EQ(it.asks[0].ask.peer, 7u);
  const Duration before = it.slot_time() * (50 * 7) + it.around.rtt / 2;
  expect_about(it.asks[0].at - Instant::from_ns(1'000'000) - before, 100_us);
}

// ---- what sources say has left ----

/// Four slots of one source, all of which leave at once; those of `lost` so many times in vain.
struct Told {
  std::function<uint32_t(uint32_t slot)> times_lost;
  Duration queue = {};  // before all of it, after the round trip was measured

  std::unique_ptr<EndpointWorld> run() {
    auto made = std::make_unique<EndpointWorld>(
        *cw_policy_csa_ud(),
        Surroundings{.is_lost = [times = times_lost](
                                    const Datagram& d) { return d.attempt < times(d.slot); },
                     .tells_departed = true},
        *cw_policy_passthrough());
    EndpointWorld& it = *made;
    const Sending sending{.message = 0, .peer = 0, .slots = 4, .begins = it.now + queue};
    it.open_step(1, {sending});
    it.send(sending);
    it.run();
    EXPECT_TRUE(it.finished.contains(0));
    return made;
  }
};
/// From when the source began until its word is here, behind the fourth slot.
Duration word_after(const EndpointWorld& it) { return it.around.rtt / 2 + it.slot_time() * 3; }

TEST(CsaUd, the_end_is_asked_for_as_soon_as_its_source_says_that_it_has_left) {
  const auto ran = Told{[](uint32_t slot) { return slot >= 2 ? 1u : 0u; }}.run();
  const EndpointWorld& it = *ran;
  ASSERT_EQ(it.asks.size(), 1u);
  EXPECT_EQ(it.asks[0].ask.first, 2u);
  EXPECT_EQ(it.asks[0].ask.count, 2u);
  expect_about(it.asks[0].at - Instant::from_ns(1'000'000) - word_after(it), 10_us);
}

TEST(CsaUd, a_source_of_which_all_is_lost_is_asked_at_its_word) {
  const auto ran = Told{[](uint32_t) { return 1u; }}.run();
  const EndpointWorld& it = *ran;
  ASSERT_EQ(it.asks.size(), 1u);
  EXPECT_EQ(it.asks[0].ask.first, 0u);
  EXPECT_EQ(it.asks[0].ask.count, 4u);
  EXPECT_LT(it.asks[0].at - Instant::from_ns(1'000'000), 100_us) << "and its timeout is 170 us";
}

TEST(CsaUd, what_is_lost_again_is_asked_for_again_at_the_word_behind_it) {
  const auto ran = Told{[](uint32_t slot) { return slot == 1 ? 5u : 0u; }}.run();
  const EndpointWorld& it = *ran;
  ASSERT_EQ(it.asks.size(), 5u);
  for (size_t i = 1; i < 5; ++i) {
    EXPECT_EQ(it.asks[i].ask.first, 1u);
    EXPECT_EQ(it.asks[i].ask.count, 1u);
    expect_about(it.asks[i].at - it.asks[i - 1].at, 110_us);  // S + Q, and never doubled
  }
}

TEST(CsaUd, a_word_of_what_has_all_come_asks_for_nothing) {
  const auto ran = Told{[](uint32_t) { return 0u; }, 50_us}.run();
  const EndpointWorld& it = *ran;
  EXPECT_TRUE(it.asks.empty());
}

TEST(CsaUd, words_make_no_difference_to_what_comes_whole_under_loss) {
  for (const uint64_t seed : {1, 2, 3, 4, 5}) {
    Prng prng(seed);
    EndpointWorld it = world_of({.is_lost = [&](auto&) { return prng.chance(0.3); },
                                 .lateness = [&](auto&) { return prng.chance(0.1) ? 8_us : 0_us; },
                                 .is_ask_lost = [&](auto&) { return prng.chance(0.2); },
                                 .tells_departed = true});
    for (uint32_t step = 0; step < 4; ++step) it.run_step(step, 8, 100);
    EXPECT_EQ(it.finished.size(), 32u);
    EXPECT_LE(it.copies, it.asked_slots / 20) << "asked for though it was on its way";
  }
}

// ---- how much at once ----

TEST(CsaUd, what_is_outstanding_is_bounded_over_all_sources) {
  for (const uint64_t seed : {1, 2, 3}) {
    Prng prng(seed);
    EndpointWorld it = world_of({.peers = 64,
                                 .messages = 64,
                                 .line = 10_Gbps,
                                 .rtt = 1_ms,
                                 .is_lost = [&](auto&) { return prng.chance(0.5); },
                                 .is_ask_lost = [&](auto&) { return prng.chance(0.1); }});
    it.answer_time = 1_ms + it.around.rtt_var * 12;
    it.run_step(1, 64, 40);
    EXPECT_EQ(it.finished.size(), 64u);
    EXPECT_LE(it.outstanding_most, 74u) << "a quarter of 1 ms at 10 Gbit/s, in slots of 4200 bytes";
    EXPECT_GE(it.outstanding_most, 60u) << "and most of it is used";
  }
}

TEST(CsaUd, on_a_short_line_sixteen_slots_may_be_outstanding) {
  Prng prng(4);
  EndpointWorld it = world_of({.is_lost = [&](auto&) { return prng.chance(0.5); }});
  it.run_step(1, 8, 100);
  EXPECT_EQ(it.finished.size(), 8u);
  EXPECT_EQ(it.outstanding_most, 16u);
}

// A dead source is asked for a piece now and then, and takes nothing from those that answer.
TEST(CsaUd, a_dead_source_does_not_hold_up_the_others) {
  Prng prng(5);
  EndpointWorld it = world_of(
      {.peers = 16, .is_lost = [&](const Datagram& d) { return d.peer < 8 || prng.chance(0.2); }});
  std::vector<Sending> list;
  for (uint32_t peer = 0; peer < 16; ++peer)
    list.push_back({peer, peer, 50, it.now, it.slot_time() * 16});
  it.open_step(1, list);
  for (const Sending& each : list) it.send(each);
  it.run_for(20_ms);
  EXPECT_EQ(it.finished.size(), 8u);
  const size_t asks = it.asks.size();
  it.run_for(10_s);
  EXPECT_LE(it.asks.size() - asks, 8 * 20u) << "doubling up to a second";
}

// ---- haste ----

TEST(CsaUd, asks_for_what_was_not_lost_raise_the_reorder_budget_and_it_falls_again) {
  Prng prng(6);
  bool is_torn = true;
  // Holes wait for Q and nothing else.
  EndpointWorld it =
      world_of({.lateness = [&](auto&) { return is_torn && prng.chance(0.1) ? 40_us : 0_us; },
                .params = {{"patience", 0}}});
  uint32_t step = 0;
  const auto copies_of = [&](uint32_t steps) {
    const uint64_t before = it.copies;
    for (uint32_t i = 0; i < steps; ++i) it.run_step(step++, 8, 100);
    return it.copies - before;
  };
  const uint64_t at_first = copies_of(5);
  EXPECT_GE(at_first, 20u);
  copies_of(40);
  const uint64_t later = copies_of(5);
  EXPECT_LE(later, at_first / 4);
  // Losses that are none of reordering's: the budget falls back.
  is_torn = false;
  it.around.is_lost = [&](auto&) { return prng.chance(0.05); };
  copies_of(300);
  is_torn = true;
  it.around.is_lost = [](auto&) { return false; };
  EXPECT_GE(copies_of(5), at_first / 3);
}

// ---- a core that knows less ----

TEST(CsaUd, takes_the_paths_round_trip_where_the_core_tells_none_of_peers) {
  cw_env env{};
  env.size = offsetof(cw_env, abi);
  env.seat = CW_SEAT_ENDPOINT;
  env.role = CW_SINK;
  env.peers = env.messages = env.paths = 1;
  env.data_slots_max = 64;
  env.payload_bytes = env.slot_wire_bytes = 1000;
  env.rate_bps = 1'000'000'000;
  std::vector<double> params;
  const cw_policy_ops& ops = *cw_policy_csa_ud();
  for (uint32_t i = 0; i < ops.param_count; ++i) params.push_back(ops.params[i].initial);
  env.params = params.data();
  cw_policy* policy = nullptr;
  char why[64];
  ASSERT_EQ(ops.create(&env, &policy, why, sizeof why), 0);
  std::vector<uint64_t> state(ops.message_state_bytes / 8 + 1);
  cw_decision decisions[16];
  cw_out out{};
  out.decisions = decisions;
  out.decision_capacity = 16;
  cw_path_facts path{};
  path.reorder_ns = 10'000;
  path.is_up = 1;
  const cw_fact_link link{1, 0, env.rate_bps, 2'000'000, &path};
  ops.link(policy, &link, 0, &out);
  cw_fact_opened opened{};
  opened.slots = 4;
  opened.state = state.data();
  ops.opened(policy, &opened, 0, &out);
  cw_fact_step step{};
  step.sources = 1;
  step.expected_bytes = 4000;
  step.rate_bps = env.rate_bps;
  step.deadline_ns = CW_NEVER_NS;
  step.state = state.data();
  step.rtt_ns = 1;  // whatever lies there
  ops.step(policy, &step, 0, &out);
  ASSERT_EQ(out.decision_count, 1u);
  EXPECT_EQ(decisions[0].u.timer.at_ns, 2'010'000) << "S + Q, as the link says";
  ops.destroy(policy);
}

}  // namespace
}  // namespace cw::policy_test
