// Slots: how they are cut, and how fast and in which shares they leave.
#include <gtest/gtest.h>

#include "dataplane/sdr/stream/send/send_stream.h"
#include "tests/sim/sdr/slots_world.h"

namespace cw::sim {
namespace {
using namespace literals;

// ---- Streams that are appended slot by slot, any of them short, over a wire that loses ----

ClearToSend limits_of(uint32_t retired, uint32_t messages, uint64_t slots) {
  ClearToSend clear;
  clear.retired_seq = clear.heard_seq = MessageSeq(retired);
  clear.message_limit = MessageSeq(messages);
  clear.slot_limit = slots;
  return clear;
}

TEST(Slots, arrive_once_and_whole_whatever_their_sizes_and_what_is_lost) {
  for (const cw_policy_ops* policy : {cw_policy_selective_repeat(), cw_policy_go_back_n()}) {
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      SCOPED_TRACE(std::string(policy->name) + " seed " + std::to_string(seed));
      PairOptions options = slots_pair(policy);
      options.seed = seed;
      options.wire = {.loss = 0.03, .duplicate = 0.02, .delay = 2_ms};
      SlotsWorld world(options);
      ASSERT_TRUE(world.comes_up());
      Prng prng(seed);
      ASSERT_TRUE(world.appends(2000, prng, 120_s)) << "places come free again";
      EXPECT_TRUE(world.all_arrive(5_s));
      EXPECT_EQ(world.sink->complaint(), "");
      EXPECT_EQ(world.sink->given_up_count(), 0u);
      EXPECT_EQ(world.sends().waiting_bytes(), 0u);
      EXPECT_GT(world.count_at_a(Counter::resends_sent), 0u);
    }
  }
}

TEST(Slots, a_slot_leaves_alone_and_at_once_while_its_message_stays_open) {
  SlotsWorld world(slots_pair());
  ASSERT_TRUE(world.comes_up());
  const Instant appended = world.now();
  ASSERT_TRUE(world.append(100));
  world.pair.run_for(40_ms);
  ASSERT_TRUE(world.sink->arrival(1));
  EXPECT_LE(*world.sink->arrival(1) - appended, 10_ms + 100_us) << "the wire's delay is 10 ms";
  EXPECT_TRUE(world.source.is_in_message());
  EXPECT_EQ(world.sink->completed_count(), 0u);
}

TEST(Slots, packets_bear_the_marks_of_their_slots_and_so_do_resends) {
  std::vector<std::pair<uint8_t, uint8_t>> seen;
  WireScript script;
  uint64_t count = 0;
  script.data = [&](const Packet& packet) {
    seen.emplace_back(packet.ecn, packet.dscp);
    return count++ < 3 ? Fate::Lose : Fate::Pass;
  };
  script.control = [&](const Packet& packet) {
    EXPECT_EQ(packet.ecn, 0);
    EXPECT_EQ(packet.dscp, 0);
    return Fate::Pass;
  };
  SlotsWorld world(slots_pair(), script);
  ASSERT_TRUE(world.comes_up());
  ASSERT_TRUE(world.append(100, 2, 46));
  ASSERT_TRUE(world.append(1024, 0, 0));
  ASSERT_TRUE(world.append(9, 3, 63));
  ASSERT_TRUE(world.all_arrive(2_s));
  ASSERT_EQ(seen.size(), 6u) << "each was lost once";
  for (size_t i = 0; i < 6; i += 3) {
    EXPECT_EQ(seen[i], (std::pair<uint8_t, uint8_t>(2, 46)));
    EXPECT_EQ(seen[i + 1], (std::pair<uint8_t, uint8_t>(0, 0)));
    EXPECT_EQ(seen[i + 2], (std::pair<uint8_t, uint8_t>(3, 63)));
  }
  EXPECT_EQ(world.sink->marked(), std::set<uint32_t>{3}) << "the packet of slot 3 alone bore CE";
  EXPECT_EQ(world.sink->complaint(), "");
}

TEST(Slots, waiting_bytes_are_those_that_have_not_left) {
  PairOptions options = slots_pair();
  options.a.rate = Rate::from_mbps(8);  // about a millisecond a slot
  SlotsWorld world(options);
  ASSERT_TRUE(world.comes_up());
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(world.append(1000));
  EXPECT_EQ(world.sends().waiting_bytes(), 40'000u);
  world.pair.run_for(20_ms);
  EXPECT_NEAR(static_cast<double>(world.sends().waiting_bytes()), 21'000, 2000);
  world.pair.run_for(60_ms);
  EXPECT_EQ(world.sends().waiting_bytes(), 0u);
  EXPECT_EQ(world.count_at_a(Counter::data_sent), 40u);
}

TEST(Slots, that_are_short_and_long_by_turns_take_as_long_as_all_their_bytes) {
  PairOptions options = slots_pair();
  options.a.rate = Rate::from_mbps(8);  // a byte takes a microsecond
  SlotsWorld world(options);
  ASSERT_TRUE(world.comes_up());
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(world.append(i % 2 == 0 ? 16 : 1000));
  world.pair.run_for(11_ms);  // half of what they take
  EXPECT_NEAR(static_cast<double>(world.sends().waiting_bytes()), 20'320 / 2, 2000);
}

TEST(Slots, wait_for_credit_and_go_on_when_it_comes) {
  bool is_deaf = false;
  WireScript of_b;
  of_b.control = [&](const Packet&) { return is_deaf ? Fate::Lose : Fate::Pass; };
  SlotsWorld world(slots_pair(), {}, of_b);
  ASSERT_TRUE(world.comes_up());
  is_deaf = true;
  uint32_t taken = 0;
  while (taken < 1000 && world.append(300)) ++taken;
  EXPECT_EQ(taken, 4 * 64u) << "every place is taken";
  world.pair.run_for(1_s);
  EXPECT_FALSE(world.append(300)) << "nobody says that one is free";
  EXPECT_EQ(world.sink->arrived_count(), taken);
  is_deaf = false;
  world.pair.run_for(1200_ms);
  EXPECT_TRUE(world.append(300));
  EXPECT_TRUE(world.all_arrive(1_s));
  EXPECT_EQ(world.sink->complaint(), "");
}

TEST(Slots, as_many_leave_as_are_granted) {
  const WireScript calm;
  Pair bare(slots_pair(), calm);  // nothing is posted: credit is given by hand
  bare.courier().stop();
  bare.courier().post_nothing();
  ASSERT_TRUE(bare.run_until([&] { return bare.are_up(); }, 3_s));
  SlotSource source(slots_pair().a.stream);
  const sdr::Source sends = bare.a->sends();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(source.append(sends, 200, bare.network().now()));
  const auto sent = [&] { return bare.a->counters().read_any_thread(Counter::data_sent); };
  bare.run_for(100_ms);
  EXPECT_EQ(sent(), 0u);
  bare.a->send_stream().on_clear_to_send(limits_of(0, 1, 8), bare.network().now());
  bare.run_for(5_ms);
  EXPECT_EQ(sent(), 8u);
  EXPECT_EQ(sends.waiting_bytes(), 12 * 200u);
  bare.a->send_stream().on_clear_to_send(limits_of(0, 1, 30), bare.network().now());
  bare.run_for(5_ms);
  EXPECT_EQ(sent(), 20u);
  EXPECT_EQ(sends.waiting_bytes(), 0u);
}

TEST(Slots, are_not_taken_before_the_ends_agree_on_their_size) {
  PairOptions options = slots_pair();
  options.b.stream.payload_bytes = 512;
  SlotsWorld world(options);
  EXPECT_FALSE(world.sends().is_started());
  EXPECT_FALSE(world.append(100));
  ASSERT_TRUE(world.comes_up());
  EXPECT_TRUE(world.sends().is_started());
  EXPECT_EQ(world.sends().config().payload_bytes, 512u);
  Prng prng(3);
  ASSERT_TRUE(world.appends(500, prng, 20_s)) << "in the message that was opened before";
  EXPECT_TRUE(world.all_arrive(2_s));
  EXPECT_EQ(world.sink->complaint(), "");
}

TEST(Slots, a_full_message_a_closed_one_and_a_stale_handle_take_no_more) {
  SlotsWorld world(slots_pair());
  ASSERT_TRUE(world.comes_up());
  const auto handle = world.sends().try_open({});
  ASSERT_TRUE(handle);
  const auto takes = [&] {
    if (!world.sends().has_packets(*handle, 1)) return false;
    std::memset(world.sends().slot_memory(*handle), 0, 8);
    return world.sends().append_slot(*handle, {.bytes = 8}, world.now());
  };
  for (uint32_t i = 0; i < 64; ++i) ASSERT_TRUE(takes());
  EXPECT_FALSE(takes()) << "full";
  const uint8_t memory[8] = {};
  EXPECT_FALSE(world.sends().append(*handle, 0, memory)) << "not the way of the stream";
  ASSERT_TRUE(world.sends().close(*handle));
  EXPECT_FALSE(takes()) << "closed";
  world.sends().forget(*handle);
  EXPECT_FALSE(takes()) << "forgotten";
}

// An epoch ends in the middle of everything; nothing of it is seen in the next.
TEST(Slots, survive_a_restart_of_either_end) {
  PairOptions options = slots_pair();
  options.wire = {.loss = 0.05, .delay = 5_ms};
  SlotsWorld world(options);
  ASSERT_TRUE(world.comes_up());
  Prng prng(9);
  ASSERT_TRUE(world.appends(300, prng, 20_s));
  const size_t before = world.sink->arrived_count();
  world.pair.restart_a();
  world.source.on_reset(world.sends());
  ASSERT_TRUE(world.pair.run_until([&] { return world.sink->reset_count() == 1; }, 20_s));
  ASSERT_TRUE(world.comes_up());
  ASSERT_TRUE(world.appends(300, prng, 20_s));
  world.source.close(world.sends());
  ASSERT_TRUE(world.pair.run_until([&] { return world.sends().is_idle(); }, 10_s));
  EXPECT_GE(world.sink->arrived_count(), before + 300);
  EXPECT_EQ(world.sink->complaint(), "");

  for (int i = 0; i < 30; ++i) ASSERT_TRUE(world.append(500));
  EXPECT_GT(world.sends().waiting_bytes(), 0u);
  world.sink.reset();
  world.pair.restart_b();
  world.sink = std::make_unique<SlotSink>(*world.pair.b);
  ASSERT_TRUE(world.pair.run_until([&] { return !world.sends().is_started(); }, 20_s));
  EXPECT_EQ(world.sends().waiting_bytes(), 0u);
  EXPECT_FALSE(world.append(500)) << "of the old epoch, or of none";
  world.source.on_reset(world.sends());
  ASSERT_TRUE(world.comes_up());
  const uint32_t from = world.source.appended();
  ASSERT_TRUE(world.appends(300, prng, 20_s));
  world.source.close(world.sends());
  ASSERT_TRUE(world.pair.run_until([&] { return world.sends().is_idle(); }, 10_s));
  EXPECT_EQ(world.sink->arrived_count(), world.source.appended() - from);
  EXPECT_EQ(world.sink->complaint(), "");
}

// ---- How QPs of one link share its pacer ----

/// Streams of one link, each kept full unless told not to.
struct Rivals {
  explicit Rivals(const std::vector<uint32_t>& weights, Rate rate)
      : options(options_of(weights, rate)), pair(options, calm) {
    pair.courier().stop();
    pair.courier().post_nothing();
    for (uint16_t qp = 0; qp < weights.size(); ++qp) {
      sources.emplace_back(options.a.stream);
      sinks.push_back(std::make_unique<SlotSink>(*pair.b, qp));
      is_busy.push_back(true);
    }
    EXPECT_TRUE(pair.run_until([&] { return pair.are_up(); }, 3_s));
    pair.run_for(100_ms);
  }

  static PairOptions options_of(const std::vector<uint32_t>& weights, Rate rate) {
    PairOptions options = slots_pair();
    options.a.weights = options.b.weights = weights;
    options.a.rate = rate;
    options.a.stream.messages = options.b.stream.messages = 16;
    options.a.stream.data_slots_max = options.b.stream.data_slots_max = 256;
    return options;
  }
  /// How many slots of each stream arrived in `time`.
  std::vector<double> run(Duration time) {
    std::vector<double> arrived;
    for (const auto& sink : sinks) arrived.push_back(-static_cast<double>(sink->arrived_count()));
    const Instant end = pair.network().now() + time;
    while (pair.network().now() < end) {
      for (uint16_t qp = 0; qp < sources.size(); ++qp) fill(qp);
      pair.run_for(500_us);
    }
    for (size_t qp = 0; qp < sinks.size(); ++qp) {
      arrived[qp] += static_cast<double>(sinks[qp]->arrived_count());
      EXPECT_EQ(sinks[qp]->complaint(), "");
    }
    return arrived;
  }
  void fill(uint16_t qp) {
    const sdr::Source stream = pair.a->sends(qp);
    // Slots of other sizes, so that bytes are shared and not packets.
    const auto bytes = static_cast<uint16_t>(qp == 0 ? 300 : 1000);
    while (is_busy[qp] && stream.waiting_bytes() < 60'000) {
      if (!sources[qp].append(stream, bytes, pair.network().now())) return;
    }
  }

  const WireScript calm;
  PairOptions options;
  Pair pair;
  std::vector<SlotSource> sources;
  std::vector<std::unique_ptr<SlotSink>> sinks;
  std::vector<bool> is_busy;
};

constexpr double wire_of_small = 300 + 32, wire_of_large = 1000 + 32;

TEST(Weights, share_the_bytes_of_the_line_within_five_percent) {
  for (const auto& weights : {std::vector<uint32_t>{1, 3}, {3, 1}, {1, 1}, {1, 40}}) {
    SCOPED_TRACE(std::to_string(weights[0]) + " to " + std::to_string(weights[1]));
    Rivals rivals(weights, Rate::from_mbps(100));
    (void)rivals.run(200_ms);
    const auto arrived = rivals.run(1_s);
    const double small = arrived[0] * wire_of_small, large = arrived[1] * wire_of_large;
    const double wanted = static_cast<double>(weights[0]) / (weights[0] + weights[1]);
    EXPECT_NEAR(small / (small + large) / wanted, 1, 0.05);
    EXPECT_GT((small + large) * 8, 0.93e8) << "and the line is full";
  }
}

TEST(Weights, what_one_leaves_the_other_takes_and_nobody_saves_up) {
  Rivals rivals({1, 3}, Rate::from_mbps(100));
  rivals.is_busy[1] = false;
  (void)rivals.run(200_ms);
  const auto alone = rivals.run(1_s);
  EXPECT_GT(alone[0] * wire_of_small * 8, 0.93e8);
  EXPECT_EQ(alone[1], 0);
  rivals.is_busy[1] = true;
  (void)rivals.run(50_ms);
  const auto both = rivals.run(500_ms);
  const double small = both[0] * wire_of_small, large = both[1] * wire_of_large;
  EXPECT_NEAR(small / (small + large), 0.25, 0.0125) << "no debt and no claim of the past";
}

TEST(Weights, of_three_streams_where_resends_are_on_account) {
  Rivals rivals({1, 2, 1}, Rate::from_mbps(100));
  (void)rivals.run(200_ms);
  rivals.pair.network().set_all_impairments({.loss = 0.05, .delay = 10_ms});
  (void)rivals.run(200_ms);
  const auto arrived = rivals.run(1_s);
  EXPECT_NEAR(arrived[1] / arrived[2], 2, 0.1) << "slots alike, loss alike";
}

TEST(Weights, must_not_be_zero) {
  Rivals rivals({1}, Rate::from_mbps(100));
  sdr::QpOptions qp;
  qp.stream.qp = 5;
  qp.weight = 0;
  qp.policy = {cw_policy_passthrough(), {}};
  const auto added = rivals.pair.a->link().add_qp(qp, rivals.pair.network().now());
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().sentence, "qp 5: weight is 0 and must be 1 to 1000");
}

}  // namespace

}  // namespace cw::sim
