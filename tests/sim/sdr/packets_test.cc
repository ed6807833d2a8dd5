// Packets, and who lent and holds their memory.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "dataplane/port/impair/impaired_port.h"
#include "offload/codec/codecs.h"
#include "tests/sim/sdr/pair.h"
#include "tests/sim/sdr/slots_world.h"

namespace cw::sim {
namespace {
using namespace literals;

// ---- packets ----
// Slots lie in packets of the port, which are its own again for a while whenever they are sent:
// what is under way does not change, and every packet comes home.

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

// ---- lent memory ----
// Memory that an application lends is its own again when no packet names it any more, and not
// before, though the message be over: a port may refuse packets, and keep what it has taken.

constexpr uint64_t message_bytes = 20 * 1024;

/// Lends memory that is gone as soon as its stream has released it: a read after that is one of
/// memory that is free, and AddressSanitizer says so.
class Lending {
 public:
  explicit Lending(sdr::Source source) : source_(source) {
    memory_ = std::make_unique<uint8_t[]>(message_bytes);
    handle_ = *source.try_open({});
    EXPECT_TRUE(source.append(handle_, 0, {memory_.get(), message_bytes}));
    EXPECT_TRUE(source.close(handle_));
  }
  const sdr::SendHandle& handle() const { return handle_; }
  sdr::MessageStatus status() const { return source_.status(handle_); }
  bool try_free() {
    if (!source_.is_released(handle_)) return false;
    memory_.reset();
    return true;
  }

 private:
  sdr::Source source_;
  sdr::SendHandle handle_;
  std::unique_ptr<uint8_t[]> memory_;
};

TEST(LentMemory, is_not_free_while_the_port_refuses_its_packets) {
  WireScript script;
  Pair pair(reliable_pair(), script);
  pair.courier().stop();
  ASSERT_TRUE(pair.run_until([&] { return pair.are_up(); }, 1_s));
  pair.run_for(50_ms);
  // given: packets of a message that the port does not take
  script.is_full = true;
  const sdr::Source source = pair.a->sends();
  Lending lending(source);
  pair.run_for(5_ms);
  source.cancel(lending.handle(), pair.network().now());
  EXPECT_EQ(lending.status(), sdr::MessageStatus::GivenUp);
  pair.run_for(5_ms);
  EXPECT_FALSE(lending.try_free()) << "they name it, and will be sent";
  // when: it takes them
  script.is_full = false;
  EXPECT_TRUE(pair.run_until([&] { return lending.try_free(); }, 1_s));
  source.forget(lending.handle());
  EXPECT_TRUE(pair.run_until([&] { return source.is_idle(); }, 1_s)) << "its place is free again";
}

TEST(LentMemory, keeps_its_place_while_a_nic_has_what_it_has_sent) {
  WireScript script;
  script.linger = 300_ms;
  Pair pair(reliable_pair(), script);
  pair.courier().stop();
  pair.courier().post_nothing();
  ASSERT_TRUE(pair.run_until([&] { return pair.are_up(); }, 1_s));
  std::vector<uint8_t> target(message_bytes);
  const auto receive = pair.b->receives().try_post(target);
  ASSERT_TRUE(receive);
  pair.run_for(50_ms);
  const sdr::Source source = pair.a->sends();
  Lending lending(source);
  const auto is_done = [&] { return lending.status() == sdr::MessageStatus::Done; };
  EXPECT_TRUE(pair.run_until(is_done, 200_ms)) << "all of it has come";
  EXPECT_FALSE(lending.try_free());
  source.forget(lending.handle());
  ASSERT_TRUE(pair.b->receives().complete(*receive, pair.network().now()));
  pair.run_for(100_ms);
  EXPECT_FALSE(source.is_idle()) << "the next message there would count its packets";
  EXPECT_TRUE(pair.run_until([&] { return source.is_idle(); }, 500_ms));
}

/// A site whose port keeps for 40 ms what it has taken, and doubles half of it.
struct SlowSite {
  SimNetwork network{{.seed = 3, .wire_packets = 2048, .payload_max = 1024}};
  SimPort &near = network.add_port(), &far = network.add_port();
  SimPeers peers = network.join(near, far, {.delay = 1_ms});
  ImpairedPort slow{near, {.tx = {.duplicate = 0.5, .delay = 40_ms}}};
};

TEST(LentMemory, is_not_free_while_a_port_keeps_its_packets) {
  SlowSite slow;
  Stage stage(slow.network);
  PairOptions options = reliable_pair();
  options.b.seed = options.a.seed + 1;
  Site a(slow.slow, slow.peers.of_first, options.a, slow.network.now());
  Site b(slow.far, slow.peers.of_second, options.b, slow.network.now());
  stage.add(a);
  stage.add(b);
  const auto run_for = [&](Duration time) {
    (void)stage.run_until([] { return false; }, slow.network.now() + time);
  };
  run_for(500_ms);
  ASSERT_TRUE(a.is_up() && b.is_up());
  std::vector<uint8_t> target(message_bytes);
  ASSERT_TRUE(b.receives().try_post(target));
  run_for(100_ms);
  Lending lending(a.sends());
  run_for(5_ms);
  a.sends().cancel(lending.handle(), slow.network.now());
  EXPECT_EQ(lending.status(), sdr::MessageStatus::GivenUp);
  EXPECT_FALSE(lending.try_free());
  run_for(20_ms);
  EXPECT_FALSE(lending.try_free()) << "they have not left yet";
  run_for(30_ms);
  EXPECT_TRUE(lending.try_free());
  run_for(100_ms);
}

// ---- Slots that have become too old: their sender gives them up, says so, and goes on ----

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

TEST(Hold, ends_a_message_that_is_lost_to_its_last_slot_and_given_up_unclosed) {
  PairOptions options = slots_pair();
  options.a.send.hold = options.b.send.hold = 100_ms;
  WireScript of_a;
  of_a.data = [](const Packet&) { return Fate::Lose; };
  SlotsWorld world(options, of_a);
  ASSERT_TRUE(world.comes_up());
  const sdr::SendHandle handle = *world.sends().try_open({});
  for (uint32_t i = 0; i < options.a.stream.data_slots_max; ++i) {
    ASSERT_TRUE(world.sends().has_packets(handle, 1));
    std::memset(world.sends().slot_memory(handle), 0, 8);
    ASSERT_TRUE(world.sends().append_slot(handle, {.bytes = 8}, world.now()));
  }
  world.pair.run_for(500_ms);
  EXPECT_EQ(world.count_at_a(Counter::slots_abandoned), options.a.stream.data_slots_max);
  EXPECT_EQ(world.sink->given_up_count(), 0u) << "its length may be told yet";
  world.sends().cancel(handle, world.now());
  world.pair.run_for(12_ms);  // the wire's delay is 10 ms
  EXPECT_EQ(world.sink->given_up_count(), 1u);
  EXPECT_EQ(world.sink->complaint(), "");
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
