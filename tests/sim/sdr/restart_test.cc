// Ends that go away and come back, at every turn.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/sim/sdr/intruder.h"

namespace cw::sim {
namespace {
using namespace literals;

enum class Who : uint8_t { Sender, Receiver, Both };
constexpr Who everyone[] = {Who::Sender, Who::Receiver, Who::Both};

void restart(Pair& pair, Who who) {
  if (who != Who::Receiver) pair.restart_sender();
  if (who != Who::Sender) pair.restart_receiver();
}

void run_turns(Pair& pair, uint64_t count) {
  const uint64_t goal = pair.turn_count() + count;
  ASSERT_TRUE(pair.run_until([&] { return pair.turn_count() >= goal; }, 10_s));
}

TEST(Restart, may_happen_at_every_turn_of_a_short_transfer) {
  const WireScript script;
  uint64_t turns = 0;
  {
    Pair pair(reliable_pair(), script);
    ASSERT_TRUE(pair.delivers(8, 3_s));
    turns = pair.turn_count();
  }
  ASSERT_GT(turns, 50u);
  for (const Who who : everyone) {
    for (uint64_t turn = 1; turn <= turns; ++turn) {
      SCOPED_TRACE("turn " + std::to_string(turn) + " who " + std::to_string(int(who)));
      Pair pair(reliable_pair(turn), script);
      run_turns(pair, turn);
      restart(pair, who);
      ASSERT_TRUE(pair.delivers(5, 5_s)) << pair.a->link().why();
      ASSERT_EQ(pair.courier().complaint(), "");
    }
  }
}

// All slots were acknowledged, and the receiver ended before it heard where the message ends: told
// to be done, it was never delivered.
TEST(Restart, takes_no_message_that_its_sender_was_told_is_done) {
  WireScript to_b;
  const WireScript to_a;
  bool is_deaf = false;  // from the first data on
  to_b.data = [&](const Packet&) { return is_deaf = true, Fate::Pass; };
  to_b.control = [&](const Packet&) { return is_deaf ? Fate::Lose : Fate::Pass; };
  PairOptions options = reliable_pair();
  options.courier.messages = 1;
  options.courier.bytes_of = [](uint64_t) { return 6000; };
  Pair pair(options, to_b, to_a);
  ASSERT_TRUE(pair.run_until([&] { return is_deaf; }, 1_s));
  pair.run_for(500_ms);
  EXPECT_FALSE(pair.courier().is_idle());
  pair.restart_receiver();
  to_b.control = [](const Packet&) { return Fate::Pass; };
  EXPECT_TRUE(pair.run_until([&] { return pair.courier().is_done(); }, 10_s));
  EXPECT_EQ(pair.courier().lost_sends(), 1u);
  EXPECT_EQ(pair.courier().complaint(), "");
}

TEST(Restart, may_happen_at_any_time_of_a_long_transfer_over_a_bad_wire) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Prng prng(seed);
    PairOptions options = reliable_pair(seed);
    options.wire.loss = 0.03;
    options.wire.duplicate = 0.03;
    options.wire.jitter_max = 20_ms;
    options.wire.jitter_reorders = true;
    const WireScript script;
    Pair pair(options, script);
    for (int life = 0; life < 10; ++life) {
      pair.run_for(Duration::from_us(static_cast<int64_t>(1 + prng.below(300'000))));
      restart(pair, everyone[prng.below(3)]);
    }
    ASSERT_TRUE(pair.delivers(20, 20_s)) << pair.a->link().why();
    ASSERT_EQ(pair.courier().complaint(), "");
  }
}

// What the old epoch sent comes after the new one began: the keys and QP numbers have changed.
TEST(Restart, delayed_data_of_the_old_epoch_is_counted_and_never_written) {
  for (const Who who : everyone) {
    bool is_delaying = true;
    WireScript script;
    script.delay = 400_ms;
    script.data = [&](const Packet&) { return is_delaying ? Fate::Double : Fate::Pass; };
    script.control = [&](const Packet&) { return is_delaying ? Fate::Double : Fate::Pass; };
    Pair pair(reliable_pair(), script);
    ASSERT_TRUE(pair.delivers(30, 3_s));
    is_delaying = false;
    restart(pair, who);
    ASSERT_TRUE(pair.delivers(30, 5_s));
    pair.run_for(1_s);
    EXPECT_GT(pair.dropped_at_b(DropReason::key_stale) + pair.dropped_at_b(DropReason::qpn_unknown),
              0u);
    EXPECT_GT(pair.dropped_at_b(DropReason::epoch_stale), 0u);
    EXPECT_EQ(pair.courier().complaint(), "");
  }
}

TEST(Restart, handles_of_the_end_that_stayed_say_that_the_peer_was_lost) {
  const WireScript script;
  Pair sender_stays(reliable_pair(), script);
  ASSERT_TRUE(sender_stays.delivers(5, 3_s));
  sender_stays.restart_receiver();
  ASSERT_TRUE(sender_stays.delivers(10, 5_s));
  EXPECT_GT(sender_stays.courier().lost_sends(), 0u);

  Pair receiver_stays(reliable_pair(), script);
  ASSERT_TRUE(receiver_stays.delivers(5, 3_s));
  receiver_stays.restart_sender();
  ASSERT_TRUE(receiver_stays.delivers(10, 5_s));
  EXPECT_GT(receiver_stays.courier().lost_receives(), 0u);
}

// [C-29]
TEST(Restart, leaving_ends_the_epoch_and_a_later_start_comes_up_again) {
  const WireScript script;
  Pair pair(reliable_pair(), script);
  ASSERT_TRUE(pair.delivers(5, 3_s));
  pair.b->link().leave(pair.network().now());
  EXPECT_FALSE(pair.b->is_up());
  ASSERT_TRUE(pair.run_until([&] { return !pair.a->is_up(); }, 1_s));
  EXPECT_EQ(pair.a->link().why(), "the peer has left");
  EXPECT_GT(pair.courier().lost_sends() + pair.courier().lost_receives(), 0u);
  const uint64_t epochs = pair.a->counters().read_any_thread(Counter::epochs);
  pair.run_for(5_s);
  EXPECT_EQ(pair.a->counters().read_any_thread(Counter::epochs), epochs)
      << "who has left starts nothing";
  EXPECT_FALSE(pair.b->is_up()) << "nor when its policies are made for a next time";
  pair.restart_receiver();
  EXPECT_TRUE(pair.delivers(5, 5_s)) << pair.a->link().why();
  EXPECT_EQ(pair.courier().complaint(), "");
}

/// A pair that has delivered, and a wire that can be made to lose everything.
struct Blackout {
  Blackout() {
    script.control =
        script.data = [this](const Packet&) { return is_dark ? Fate::Lose : Fate::Pass; };
    EXPECT_TRUE(pair.delivers(5, 3_s));
  }
  void darken_for(Duration time) {
    is_dark = true;
    pair.run_for(time);
    is_dark = false;
  }

  bool is_dark = false;
  WireScript script;
  Pair pair{reliable_pair(), script};
};

// [C-29]
TEST(Restart, silence_ends_the_epoch_after_the_dead_time_and_not_before) {
  Blackout stage;
  Pair& pair = stage.pair;
  stage.darken_for(14_s);
  EXPECT_TRUE(pair.are_up());
  pair.run_for(100_ms);
  EXPECT_TRUE(pair.are_up());
  stage.darken_for(16_s);
  EXPECT_FALSE(pair.a->is_up() || pair.b->is_up());
  EXPECT_EQ(pair.a->link().why(), "the peer has fallen silent");
  EXPECT_TRUE(pair.delivers(5, 5_s));
  EXPECT_EQ(pair.courier().complaint(), "");
}

TEST(Restart, a_dark_time_shorter_than_the_dead_time_loses_no_message) {
  Blackout stage;
  stage.darken_for(10_s);
  EXPECT_TRUE(stage.pair.delivers(20, 5_s));
  EXPECT_EQ(stage.pair.courier().lost_sends(), 0u);
  EXPECT_EQ(stage.pair.courier().complaint(), "");
}

/// The receiver nonce of a control packet; zero: none is known.
uint64_t receiver_nonce_of(const Packet& packet) {
  constexpr size_t transport_bytes = 20, offset = 16;
  uint64_t nonce = 0;
  for (size_t i = 0; i < 8; ++i) nonce = nonce << 8 | packet.data[transport_bytes + offset + i];
  return nonce;
}

// [C-29] The first life of b names the nonce that a has offered, and all of it is late; a offers
// that nonce to the second life of b as well. Then the first one's packets prove a dead epoch.
TEST(Restart, an_epoch_of_a_life_that_is_over_does_not_keep_the_next_life_out) {
  for (const size_t late_packets : {1u, 5u}) {
    std::vector<std::vector<uint8_t>> late;
    bool is_late = true;
    const WireScript from_a;
    WireScript from_b;
    from_b.control = [&](const Packet& packet) {
      if (!is_late || receiver_nonce_of(packet) == 0) return Fate::Pass;
      if (late.size() < late_packets) late.emplace_back(packet.data, packet.data + packet.bytes);
      return Fate::Lose;
    };
    Pair pair(reliable_pair(), from_a, from_b);
    ASSERT_TRUE(pair.run_until([&] { return late.size() == late_packets; }, 1_s));
    pair.restart_receiver();
    ASSERT_TRUE(pair.run_until([&] { return pair.b->link().control().is_in_force(); }, 1_s));
    ASSERT_FALSE(pair.a->link().control().is_in_force());
    for (const auto& bytes : late) inject(pair, pair.b_sim(), pair.peers().of_second, bytes);
    is_late = false;
    const Instant start = pair.network().now();
    ASSERT_TRUE(pair.run_until([&] { return pair.a->link().control().is_in_force(); }, 100_ms));
    ASSERT_TRUE(pair.delivers(1, 1_s)) << pair.a->link().why();
    EXPECT_GT(pair.network().now() - start, 300_ms) << "the dead epoch came into force";
    EXPECT_GT(pair.dropped_at_a(DropReason::epoch_stale), 0u);
    EXPECT_GT(pair.dropped_at_b(DropReason::epoch_stale), 0u);
    EXPECT_EQ(pair.courier().complaint(), "");
  }
}

/// The UD payload of a control packet.
std::vector<uint8_t> envelope_of(const Packet& packet) {
  constexpr size_t transport_bytes = 20;
  return {packet.data + transport_bytes, packet.data + packet.bytes};
}

// [C-87] Sealed by keys that both ends have made since, a hello needs no answer to prove its
// sender; by keys of before, or said again, it proves nothing.
TEST(Restart, a_hello_in_a_later_session_proves_who_says_it) {
  std::vector<std::vector<uint8_t>> hellos;
  bool is_cut = false;
  WireScript from_b;
  const WireScript from_a;
  from_b.control = [&](const Packet& packet) {
    if (is_cut && receiver_nonce_of(packet) == 0) hellos.push_back(envelope_of(packet));
    return is_cut ? Fate::Lose : Fate::Pass;
  };
  Pair pair(reliable_pair(), from_a, from_b);
  ASSERT_TRUE(pair.delivers(5, 1_s));
  const auto hear = [&](const std::vector<uint8_t>& hello, uint32_t session) {
    pair.a->link().on_control({hello, 0, session}, pair.network().now());
  };
  const auto epochs = [&] { return pair.a->counters().read_any_thread(Counter::epochs); };
  is_cut = true;
  for (const uint32_t life : {2, 3}) {
    hellos.clear();
    pair.restart_receiver();
    ASSERT_TRUE(pair.run_until([&] { return hellos.size() == 2; }, 1_s));
    for (const uint32_t session : {0, 2}) {
      if (session < life) hear(hellos[0], session);
    }
    EXPECT_EQ(epochs(), life - 1) << "without a session, or in that of the life before";
    hear(hellos[0], life);
    EXPECT_EQ(epochs(), life);
    for (const uint32_t session : {0, 1, 2, 3}) hear(hellos[0], session);
    hear(hellos[1], life);
    EXPECT_EQ(epochs(), life) << "said again";
  }
  is_cut = false;
  EXPECT_TRUE(pair.delivers(20, 5_s));
  EXPECT_EQ(epochs(), 3u);
  EXPECT_EQ(pair.courier().complaint(), "");
}

// [C-29] Who gives an epoch up before its first answer can have come must not do so for ever.
TEST(Restart, a_round_trip_far_longer_than_guessed_keeps_no_link_down) {
  for (const Duration one_way : {300_ms, 1_s, 2_s}) {
    PairOptions options = reliable_pair();
    options.wire.delay = one_way;
    const WireScript script;
    Pair pair(options, script);
    EXPECT_TRUE(pair.delivers(1, one_way * 40)) << pair.a->link().why();
    EXPECT_EQ(pair.courier().complaint(), "");
  }
}

/// Of ends that start apart, so that one is often waiting for the other.
PairOptions uneven_pair(uint64_t seed) {
  PairOptions options = reliable_pair(seed);
  options.wire.jitter_max = 20_ms;
  options.a.in_real_time = options.b.in_real_time = true;
  return options;
}

// An unconfirmed epoch is given up after a few hundred milliseconds [C-29]. Where the machine slept
// through them, one end's receives would be lost before anything was sent to them.
TEST(Restart, a_pause_of_the_machine_at_any_turn_of_coming_up_ends_no_epoch) {
  const WireScript script;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    uint64_t turns = 0;
    {
      Pair pair(uneven_pair(seed), script);
      ASSERT_TRUE(pair.delivers(1, 3_s));
      turns = pair.turn_count();
    }
    for (uint64_t turn = 1; turn <= turns; ++turn) {
      SCOPED_TRACE("seed " + std::to_string(seed) + " turn " + std::to_string(turn));
      Pair pair(uneven_pair(seed), script);
      run_turns(pair, turn);
      pair.network().advance_to(pair.network().now() + 450_ms);
      ASSERT_TRUE(pair.delivers(5, 5_s));
      ASSERT_EQ(pair.a->counters().read_any_thread(Counter::epochs), 1u);
      ASSERT_EQ(pair.b->counters().read_any_thread(Counter::epochs), 1u);
      ASSERT_EQ(pair.courier().lost_sends() + pair.courier().lost_receives(), 0u);
    }
  }
}

// [C-27] A replayed first hello costs an answer, and at most one in ten milliseconds. [C-26]
TEST(Restart, recorded_hellos_change_nothing_and_are_answered_sparingly) {
  std::vector<std::vector<uint8_t>> recorded;
  uint64_t from_a = 0;
  WireScript script;
  Pair* stage = nullptr;
  script.control = [&](const Packet& packet) {
    if (stage == nullptr && recorded.size() < 2) {
      recorded.emplace_back(packet.data, packet.data + packet.bytes);
    }
    from_a += packet.bytes == slot_write_header_bytes + 1024;
    return Fate::Pass;
  };
  Pair pair(reliable_pair(), script);
  ASSERT_TRUE(pair.delivers(5, 3_s));
  stage = &pair;
  pair.restart_receiver();  // so that the recording is of a life that is over
  ASSERT_TRUE(pair.delivers(5, 3_s));
  ASSERT_EQ(recorded.size(), 2u);
  const uint64_t epochs = pair.a->counters().read_any_thread(Counter::epochs);
  const uint64_t before = from_a;
  constexpr int replays = 500;
  for (int i = 0; i < replays; ++i) {
    inject(pair, pair.b_sim(), pair.peers().of_second, recorded[1]);
    pair.run_for(200_us);
  }
  pair.run_for(100_ms);
  EXPECT_EQ(pair.a->counters().read_any_thread(Counter::epochs), epochs);
  EXPECT_TRUE(pair.are_up());
  EXPECT_GE(from_a - before, 5u);
  EXPECT_LE(from_a - before, 12u) << "a hundred milliseconds of replays";
  EXPECT_TRUE(pair.delivers(20, 3_s));
  EXPECT_EQ(pair.courier().lost_sends() > 0, true) << "of the restart, none of the replays";
}

// [C-27] Nor do they keep a peer from being answered that has just begun a new life.
TEST(Restart, recorded_hellos_do_not_keep_a_new_life_out) {
  std::vector<uint8_t> recorded;
  WireScript of_a, of_b;
  of_b.control = [&](const Packet& packet) {
    if (recorded.empty()) recorded.assign(packet.data, packet.data + packet.bytes);
    return Fate::Pass;
  };
  Pair pair(reliable_pair(), of_a, of_b);
  ASSERT_TRUE(pair.delivers(5, 3_s));
  pair.restart_receiver();
  ASSERT_TRUE(pair.delivers(5, 3_s));
  const auto replay_for = [&](Duration time) {
    for (const Instant end = pair.network().now() + time; pair.network().now() < end;) {
      inject(pair, pair.b_sim(), pair.peers().of_second, recorded);
      pair.run_for(200_us);
    }
  };
  replay_for(103_ms);  // so that no hello comes just when an answer is due
  pair.restart_receiver();
  replay_for(150_ms);
  EXPECT_TRUE(pair.are_up()) << "seven round trips";
}

}  // namespace
}  // namespace cw::sim
