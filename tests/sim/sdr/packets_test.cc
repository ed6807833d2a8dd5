// Slots lie in packets of the port, which are its own again for a while whenever they are sent:
// what is under way does not change, and every packet comes home.
#include <gtest/gtest.h>

#include "offload/codec/codecs.h"
#include "tests/sim/sdr/slots_world.h"

namespace cw::sim {
namespace {
using namespace literals;

WireScript lingering(Duration linger) {
  WireScript script;
  script.linger = linger;
  return script;
}

/// Everything is settled, and whoever has a packet had time to give it back.
void expect_all_home(SlotsWorld& world) {
  EXPECT_EQ(world.pair.a->endpoint().stock().kept_count(), 0u);
  EXPECT_EQ(world.pair.a->port().held(), 0u);
  EXPECT_EQ(world.pair.a_sim().lent_count(), world.pair.a_port().lingering_count());
  EXPECT_EQ(world.pair.a_port().changed_count(), 0u) << "of those under way";
  EXPECT_EQ(world.sink->complaint(), "");
}

/// Waits for what is under way anywhere, and for what is told again of it.
void settle(SlotsWorld& world) {
  world.source.close(world.sends());
  EXPECT_TRUE(world.pair.run_until([&] { return world.sends().is_idle(); }, 20_s));
  world.a_script.is_full = false;
  world.pair.run_for(200_ms);
}

TEST(SlotPackets, are_sent_again_as_copies_while_they_are_under_way) {
  for (const Duration linger : {100_us, 7_ms, 60_ms}) {
    for (const cw_policy_ops* policy : {cw_policy_selective_repeat(), cw_policy_go_back_n()}) {
      SCOPED_TRACE(std::string(policy->name) + " " + std::to_string(linger.us()));
      PairOptions options = slots_pair(policy);
      options.wire = {.loss = 0.08, .delay = 1_ms};
      options.packets = 4096;
      SlotsWorld world(options, lingering(linger));
      ASSERT_TRUE(world.comes_up());
      Prng prng(7);
      ASSERT_TRUE(world.appends(2000, prng, 120_s));
      EXPECT_TRUE(world.all_arrive(20_s));
      EXPECT_GT(world.count_at_a(Counter::resends_sent), 100u);
      settle(world);
      expect_all_home(world);
    }
  }
}

TEST(SlotPackets, are_given_up_at_once_by_who_never_sends_them_again) {
  SlotsWorld world(slots_pair(cw_policy_passthrough()), lingering(20_ms));
  ASSERT_TRUE(world.comes_up());
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(world.append(700));
  EXPECT_EQ(world.pair.a->endpoint().stock().kept_count(), 40u);
  world.pair.run_for(2_ms);
  EXPECT_TRUE(world.source.is_in_message());
  EXPECT_EQ(world.pair.a->endpoint().stock().kept_count(), 0u) << "though they linger";
  EXPECT_GT(world.pair.a_sim().lent_count(), 39u);
  EXPECT_TRUE(world.all_arrive(1_s));
  settle(world);
  expect_all_home(world);
}

TEST(SlotPackets, come_home_when_their_message_ends_under_them) {
  for (const bool restarts_sender : {false, true}) {
    PairOptions options = slots_pair();
    options.wire = {.loss = 0.05, .delay = 3_ms};
    SlotsWorld world(options, lingering(4_ms));
    ASSERT_TRUE(world.comes_up());
    Prng prng(5);
    ASSERT_TRUE(world.appends(300, prng, 20_s));
    world.a_script.is_full = true;  // the worker holds what has been collected
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(world.append(500));
    world.pair.run_for(1_ms);
    ASSERT_GT(world.pair.a->endpoint().stock().kept_count(), 19u);
    if (restarts_sender) {
      world.pair.restart_a();
      world.source.on_reset(world.sends());
    } else {
      world.sink.reset();
      world.pair.restart_b();
      world.sink = std::make_unique<SlotSink>(*world.pair.b);
      world.a_script.is_full = false;
      ASSERT_TRUE(world.pair.run_until([&] { return !world.sends().is_started(); }, 20_s));
      world.source.on_reset(world.sends());
    }
    world.a_script.is_full = false;
    ASSERT_TRUE(world.comes_up());
    ASSERT_TRUE(world.appends(300, prng, 20_s));
    settle(world);
    expect_all_home(world);
  }
}

TEST(SlotPackets, of_slots_that_grew_too_old_come_home) {
  PairOptions options = slots_pair();
  options.a.send.hold = options.b.send.hold = 30_ms;
  options.a.rate = Rate::from_bps(500'000);  // half of what is appended
  SlotsWorld world(options, lingering(3_ms));
  ASSERT_TRUE(world.comes_up());
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(world.append(600)) << i;
    world.pair.run_for(5_ms);
  }
  settle(world);
  EXPECT_GT(world.count_at_a(Counter::slots_abandoned), 5u);
  EXPECT_GT(world.sink->arrived_count(), 20u);
  expect_all_home(world);
}

TEST(SlotPackets, are_read_by_coders_while_they_are_sent) {
  for (const size_t threads : {0u, 2u}) {
    PairOptions options = slots_pair(cw_policy_hybrid());
    const cw_policy_limits needs{.k = 8, .rows = 4, .m_cap = 8};
    options.a.stream = sdr::coded(options.a.stream, needs, code::all());
    options.a.policy_params = options.b.policy_params = {8, 2, 2, 4};
    options.a.coding.executor.threads = threads;
    options.a.send.block_age = 1_ms;
    options.b.stream = options.a.stream;
    options.wire = {.loss = 0.05, .delay = 2_ms};
    options.packets = 4096;
    SlotsWorld world(options, lingering(5_ms));
    ASSERT_TRUE(world.comes_up());
    Prng prng(11);
    ASSERT_TRUE(world.appends(2000, prng, 120_s));
    EXPECT_TRUE(world.all_arrive(20_s));
    EXPECT_GT(world.count_at_a(Counter::repairs_sent), 100u);
    EXPECT_GT(world.pair.b->counters().read_any_thread(Counter::slots_rebuilt), 10u);
    settle(world);
    expect_all_home(world);
  }
}

TEST(SlotPackets, that_run_out_stop_the_stream_and_nothing_else) {
  PairOptions options = slots_pair();
  options.packets = 128;
  SlotsWorld world(options, lingering(5_ms));
  ASSERT_TRUE(world.comes_up());
  uint32_t taken = 0;
  while (taken < 256 && world.append(300)) ++taken;
  EXPECT_EQ(taken, 96u) << "a quarter is for what arrives, and for control";
  world.pair.run_for(100_ms);
  EXPECT_EQ(world.sink->arrived_count(), taken);
  Prng prng(3);
  ASSERT_TRUE(world.appends(1000, prng, 20_s)) << "they came back";
  EXPECT_TRUE(world.all_arrive(5_s));
  settle(world);
  expect_all_home(world);
}

}  // namespace
}  // namespace cw::sim
