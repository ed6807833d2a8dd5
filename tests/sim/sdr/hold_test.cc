// Slots that have become too old: their sender gives them up, says so, and goes on.
#include <gtest/gtest.h>

#include "tests/sim/sdr/slots_world.h"

namespace cw::sim {
namespace {
using namespace literals;

const cw_policy_ops* const all_policies[] = {cw_policy_passthrough(), cw_policy_go_back_n(),
                                             cw_policy_selective_repeat()};

PairOptions holding(Duration hold, const cw_policy_ops* policy = cw_policy_selective_repeat()) {
  PairOptions options = slots_pair(policy);
  options.a.send.hold = options.b.send.hold = hold;
  return options;
}

/// A slot every millisecond for so long, then the last message is closed.
void stream(SlotsWorld& world, Duration time) {
  const Instant end = world.now() + time;
  while (world.now() < end) {
    (void)world.append(400);
    world.pair.run_for(1_ms);
  }
  world.source.close(world.sends());
}

// Half of all packets are lost and none can be repaired in time: every message ends at both ends
// all the same, and what came is what the wire let through.
TEST(Hold, shorter_than_the_round_trip_ends_every_message_with_its_holes) {
  for (const cw_policy_ops* policy : all_policies) {
    SCOPED_TRACE(policy->name);
    WireScript script;
    uint64_t count = 0, passed = 0;
    script.data = [&](const Packet&) {
      passed += ++count % 2;
      return count % 2 != 0 ? Fate::Pass : Fate::Lose;
    };
    SlotsWorld world(holding(5_ms, policy), script);  // the round trip takes 20 ms
    ASSERT_TRUE(world.comes_up());
    stream(world, 1_s);
    EXPECT_TRUE(world.pair.run_until([&] { return world.sends().is_idle(); }, 1_s));
    EXPECT_EQ(world.sink->complaint(), "");
    EXPECT_GE(world.source.appended(), 900u) << "places came free";
    EXPECT_GT(world.sink->given_up_count(), 10u);
    if (policy != cw_policy_go_back_n()) {  // which sends what is young enough again, in vain
      EXPECT_EQ(world.sink->arrived_count(), passed);
      EXPECT_EQ(count, world.source.appended()) << "nothing is sent again";
    }
    EXPECT_EQ(world.sends().waiting_bytes(), 0u);
  }
}

TEST(Hold, longer_than_it_takes_gives_nothing_up) {
  PairOptions options = holding(250_ms);
  options.wire = {.loss = 0.05, .delay = 10_ms};
  SlotsWorld world(options);
  ASSERT_TRUE(world.comes_up());
  stream(world, 2_s);
  EXPECT_TRUE(world.all_arrive(1_s));
  EXPECT_EQ(world.sink->given_up_count(), 0u);
  EXPECT_EQ(world.count_at_a(Counter::slots_abandoned), 0u);
  EXPECT_EQ(world.sink->complaint(), "");
}

// One slot never gets through, however often it is sent; its message goes on and ends without it.
TEST(Hold, of_one_slot_lets_the_others_of_its_message_arrive) {
  for (const cw_policy_ops* policy : {cw_policy_go_back_n(), cw_policy_selective_repeat()}) {
    SCOPED_TRACE(policy->name);
    WireScript script;
    script.data = [](const Packet& packet) {
      SlotLabel label;
      const uint8_t* bytes = packet.payload != nullptr ? packet.payload : packet.data + 32;
      std::memcpy(&label, bytes, sizeof(label));
      return label.number == 20 ? Fate::Lose : Fate::Pass;
    };
    SlotsWorld world(holding(100_ms, policy), script);
    ASSERT_TRUE(world.comes_up());
    stream(world, 300_ms);
    EXPECT_TRUE(world.pair.run_until([&] { return world.sends().is_idle(); }, 1_s));
    EXPECT_EQ(world.sink->arrived_count(), world.source.appended() - 1);
    EXPECT_FALSE(world.sink->arrival(20));
    EXPECT_EQ(world.sink->given_up_count(), 1u);
    EXPECT_EQ(world.sink->complaint(), "");
  }
}

TEST(Hold, after_a_blackout_old_slots_never_leave_and_fresh_ones_flow_soon) {
  for (const cw_policy_ops* policy : all_policies) {
    SCOPED_TRACE(policy->name);
    bool is_dark = false;
    std::vector<uint32_t> left;
    WireScript script;
    script.control = [&](const Packet&) { return is_dark ? Fate::Lose : Fate::Pass; };
    script.data = [&](const Packet& packet) {
      if (is_dark) return Fate::Lose;
      SlotLabel label;
      const uint8_t* bytes = packet.payload != nullptr ? packet.payload : packet.data + 32;
      std::memcpy(&label, bytes, sizeof(label));
      left.push_back(label.number);
      return Fate::Pass;
    };
    PairOptions options = holding(100_ms, policy);
    options.a.stream.messages = options.b.stream.messages = 8;
    SlotsWorld world(options, script, script);
    ASSERT_TRUE(world.comes_up());
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(world.append(400));
      world.pair.run_for(1_ms);
    }
    is_dark = true;
    const Instant night = world.now() + 3_s;
    while (world.now() < night) {
      (void)world.append(400);
      world.pair.run_for(1_ms);
    }
    is_dark = false;
    left.clear();
    const Instant day = world.now();
    const uint32_t too_old = world.source.appended();
    world.pair.run_for(100_ms);  // now what was appended in the dark is older than its hold
    std::optional<Instant> fresh_at;
    uint32_t fresh = 0;
    for (int i = 0; i < 200; ++i) {
      if (world.append(400) && fresh == 0) {
        fresh = world.source.appended();
        fresh_at = world.now();
      }
      world.pair.run_for(1_ms);
    }
    ASSERT_TRUE(fresh_at);
    EXPECT_LE(*fresh_at - day, 150_ms)
        << "a place is free, at the latest after one RTT and a probe";
    ASSERT_TRUE(world.sink->arrival(fresh));
    EXPECT_LE(*world.sink->arrival(fresh) - *fresh_at, 60_ms);
    // What the dark still held in its last 100 ms may leave; nothing that is older.
    for (const uint32_t number : left) EXPECT_GT(number + 100, too_old);
    world.source.close(world.sends());
    EXPECT_TRUE(world.pair.run_until([&] { return world.sends().is_idle(); }, 1_s));
    EXPECT_EQ(world.sink->complaint(), "");
  }
}

// No place is free, so nothing was opened for the whole of the blackout.
TEST(Hold, ends_messages_that_credit_never_reached) {
  SlotsWorld world(holding(50_ms));
  ASSERT_TRUE(world.comes_up());
  world.pair.run_for(100_ms);
  bool is_deaf = true;
  world.b_script.control = [&](const Packet&) { return is_deaf ? Fate::Lose : Fate::Pass; };
  for (int i = 0; i < 400; ++i) {
    (void)world.append(400);
    world.pair.run_for(1_ms);
  }
  EXPECT_EQ(world.source.appended(), 4 * 64u);
  EXPECT_EQ(world.sends().waiting_bytes(), 0u);
  is_deaf = false;
  world.pair.run_for(1100_ms);
  EXPECT_TRUE(world.append(400));
  EXPECT_TRUE(world.all_arrive(1_s));
  EXPECT_EQ(world.sink->complaint(), "");
}

/// Gives a message up as soon as it has a slot.
void give_up(cw_policy*, const cw_fact_appended* fact, int64_t, cw_out* out) {
  cw_decide(out, CW_DECIDE_FINISH)->u.finish = {fact->message, 0, CW_UNKNOWN, CW_FINISH_GIVEN_UP};
}

// Its slots wait for nothing any more, and their hold ends before the far end has heard of it.
TEST(Hold, does_not_end_what_was_given_up_before) {
  cw_policy_ops policy = *cw_policy_selective_repeat();
  policy.appended = give_up;
  SlotsWorld world(holding(5_ms, &policy));
  ASSERT_TRUE(world.comes_up());
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(world.append(400));
    ASSERT_TRUE(world.append(400));
    world.pair.run_for(15_ms);
    EXPECT_EQ(world.sends().waiting_bytes(), 0u);
    EXPECT_FALSE(world.append(400)) << "it is over";
    world.source.on_reset(world.sends());
  }
  EXPECT_TRUE(world.pair.run_until([&] { return world.sends().is_idle(); }, 1_s));
  EXPECT_EQ(world.count_at_a(Counter::data_sent), 0u);
  EXPECT_EQ(world.count_at_a(Counter::slots_abandoned), 0u);
}

}  // namespace
}  // namespace cw::sim
