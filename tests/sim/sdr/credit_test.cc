// How far a sender may go, and by which paths.
#include <gtest/gtest.h>

#include <array>

#include "dataplane/sdr/stream/recv/recv_stream.h"
#include "dataplane/sdr/stream/repeat_after.h"
#include "dataplane/sdr/stream/send/send_stream.h"
#include "tests/sim/sdr/pair.h"
#include "tests/sim/sdr/transfer.h"

namespace cw::sim {
namespace {
using namespace literals;

// ---- How far a sender may go, and who says so ----

PairOptions small_pair(uint64_t seed = 1) {
  SiteOptions site;
  site.policy = cw_policy_selective_repeat();
  site.stream.data_slots_max = 64;
  site.stream.messages = 8;
  return {.seed = seed, .a = site, .b = site};
}

/// Two sites that are up, with an application of the test's own in place of the courier.
struct Quiet {
  explicit Quiet(WireScript of_a = {}, WireScript of_b = {})
      : a_script(std::move(of_a)),
        b_script(std::move(of_b)),
        pair(small_pair(), a_script, b_script) {
    pair.courier().stop();
    pair.courier().post_nothing();
    EXPECT_TRUE(pair.run_until([&] { return pair.are_up(); }, 3_s));
  }

  sdr::SendHandle send(uint64_t slots) {
    const auto handle = pair.a->sends().try_open({});
    EXPECT_TRUE(handle);
    EXPECT_TRUE(pair.a->sends().append(*handle, 0, {memory.data(), slots * 1024}));
    EXPECT_TRUE(pair.a->sends().close(*handle));
    return *handle;
  }
  sdr::RecvHandle post(uint64_t slots) {
    receives.emplace_back(slots * 1024);
    return *pair.b->receives().try_post(receives.back());
  }
  uint64_t slots_sent() const { return pair.a->counters().read_any_thread(Counter::data_sent); }
  uint64_t probes() const { return pair.a->counters().read_any_thread(Counter::probes_sent); }
  Instant now() { return pair.network().now(); }
  sdr::MessageStatus status(sdr::SendHandle handle) { return pair.a->sends().status(handle); }
  sdr::MessageStatus status(sdr::RecvHandle handle) {
    return pair.b->receives().info(handle).status;
  }

  WireScript a_script, b_script;  // the pair's ports look them up
  Pair pair;
  std::vector<uint8_t> memory = std::vector<uint8_t>(64 * 1024, 7);
  std::deque<std::vector<uint8_t>> receives;
};

ClearToSend limits_of(uint32_t retired, uint32_t messages, uint64_t slots) {
  ClearToSend clear;
  clear.retired_seq = clear.heard_seq = MessageSeq(retired);
  clear.message_limit = MessageSeq(messages);
  clear.slot_limit = slots;
  return clear;
}

// [C-30]
TEST(Credit, a_sender_uses_as_many_slots_and_messages_as_were_granted) {
  Quiet quiet;
  const auto first = quiet.send(20), second = quiet.send(20);
  quiet.pair.run_for(1_s);
  EXPECT_EQ(quiet.slots_sent(), 0u);
  const auto sends = [&]() -> sdr::SendStream& { return quiet.pair.a->send_stream(); };
  sends().on_clear_to_send(limits_of(0, 1, 8), quiet.now());
  quiet.pair.run_for(1_ms);
  EXPECT_EQ(quiet.slots_sent(), 8u) << "slots are short";
  sends().on_clear_to_send(limits_of(0, 1, 100), quiet.now());
  quiet.pair.run_for(1_ms);
  EXPECT_EQ(quiet.slots_sent(), 20u) << "messages are short";
  sends().on_clear_to_send(limits_of(0, 2, 30), quiet.now());
  quiet.pair.run_for(1_ms);
  EXPECT_EQ(quiet.slots_sent(), 40u) << "a lower limit came late: the higher stands";
  EXPECT_EQ(quiet.status(first), sdr::MessageStatus::Open);
  // [C-31] The receiver closed the first whatever the policy heard; then an older word of it.
  sends().on_clear_to_send(limits_of(1, 2, 100), quiet.now());
  EXPECT_EQ(quiet.status(first), sdr::MessageStatus::Done);
  sends().on_clear_to_send(limits_of(0, 2, 100), quiet.now());
  EXPECT_EQ(quiet.status(first), sdr::MessageStatus::Done);
  EXPECT_EQ(quiet.status(second), sdr::MessageStatus::Open);
}

TEST(Credit, a_clear_to_send_that_retires_what_was_never_opened_is_not_believed) {
  Quiet quiet;
  const auto message = quiet.send(4);
  quiet.pair.a->send_stream().on_clear_to_send(limits_of(5, 6, 100), quiet.now());
  EXPECT_EQ(quiet.status(message), sdr::MessageStatus::Open);
}

TEST(Credit, small_receives_grant_no_more_slots_than_they_hold) {
  Quiet quiet;
  quiet.send(20);
  quiet.send(20);
  quiet.post(20);
  quiet.pair.run_for(100_ms);
  EXPECT_EQ(quiet.slots_sent(), 20u);
  quiet.post(20);
  quiet.pair.run_for(1_s);
  EXPECT_EQ(quiet.slots_sent(), 40u);
}

// [C-34]
TEST(Credit, a_blocked_sender_probes_ever_less_often_and_goes_on_when_it_is_heard) {
  bool is_deaf = true;
  const WireScript calm;
  WireScript deaf;
  deaf.control = [&](const Packet&) { return is_deaf ? Fate::Lose : Fate::Pass; };
  is_deaf = false;
  Quiet quiet(calm, deaf);
  is_deaf = true;
  const auto message = quiet.send(4);
  const auto receive = quiet.post(4);
  quiet.pair.run_for(1_s);
  // The RTT is 20 ms: at 20, 40, 80, 160, 320, 640 and 1000 ms after one another.
  EXPECT_GE(quiet.probes(), 4u);
  EXPECT_LE(quiet.probes(), 7u);
  const uint64_t before = quiet.probes();
  quiet.pair.run_for(5_s);
  EXPECT_GE(quiet.probes() - before, 5u) << "never less often than once a second";
  EXPECT_LE(quiet.probes() - before, 7u);
  EXPECT_EQ(quiet.slots_sent(), 0u);
  is_deaf = false;
  quiet.pair.run_for(2_s);
  EXPECT_EQ(quiet.status(receive), sdr::MessageStatus::Done);
  EXPECT_NE(quiet.status(message), sdr::MessageStatus::PeerLost);
}

// [C-32]
TEST(Credit, a_receiver_says_what_is_new_again_soon_and_then_ever_less_often) {
  Quiet quiet;
  const auto message = quiet.pair.a->sends().try_open({});
  ASSERT_TRUE(message);
  quiet.post(4);
  quiet.pair.run_for(400_ms);
  const auto clears_in = [&](Duration time) {
    const Counters& counters = quiet.pair.b->counters();
    const uint64_t before = counters.read_any_thread(Counter::clears_sent);
    quiet.pair.run_for(time);
    return static_cast<double>(counters.read_any_thread(Counter::clears_sent) - before);
  };
  EXPECT_NEAR(clears_in(400_ms), 20, 4) << "nothing is new: one per RTT of 20 ms";
  quiet.post(4);
  EXPECT_NEAR(clears_in(20_ms), 5, 1) << "one at once, and one every quarter of an RTT";
  EXPECT_NEAR(clears_in(400_ms), 22, 5);
}

// [C-32] [C-36]
TEST(Credit, what_is_said_again_is_said_at_most_fifty_times_a_second_on_a_short_link) {
  for (const Duration rtt : {100_us, 1_ms, 20_ms, 100_ms}) {
    EXPECT_EQ(sdr::repeat_after(rtt, 0), rtt / 4);
    EXPECT_EQ(sdr::repeat_after(rtt, 3), rtt / 4);
    EXPECT_EQ(sdr::repeat_after(rtt, 4), rtt / 2);
    EXPECT_EQ(sdr::repeat_after(rtt, UINT8_MAX), std::max(rtt, 20_ms));
  }
}

// [C-35]
TEST(Credit, an_abandoned_message_is_retired_like_any_other) {
  Quiet quiet;
  for (int i = 0; i < 20; ++i) {
    const auto receive = quiet.post(4);
    const auto message = quiet.pair.a->sends().try_open({});
    ASSERT_TRUE(message) << i;
    quiet.pair.run_for(50_ms);
    quiet.pair.a->sends().cancel(*message, quiet.now());
    quiet.pair.run_for(50_ms);
    ASSERT_EQ(quiet.status(receive), sdr::MessageStatus::GivenUp);
    ASSERT_TRUE(quiet.pair.b->receives().complete(receive, quiet.now()));
    quiet.pair.run_for(50_ms);
    ASSERT_EQ(quiet.status(*message), sdr::MessageStatus::GivenUp);
    quiet.pair.a->sends().forget(*message);
  }
}

// [C-37] [C-39]
TEST(Credit, the_first_of_two_contradicting_records_stands) {
  Quiet quiet;
  const auto receive = quiet.post(8);
  sdr::RecvStream& receives = quiet.pair.b->recv_stream();
  const auto malformed = [&] { return quiet.pair.dropped_at_b(DropReason::record_body); };
  Opened opened;
  opened.data_slots_max = 32;
  receives.on_opened(opened, quiet.now());
  EXPECT_EQ(malformed(), 1u) << "another D";
  Closed closed;
  closed.slots = 2;
  closed.message_bytes = 1500;
  receives.on_closed(closed, quiet.now());
  receives.on_closed(closed, quiet.now());
  EXPECT_EQ(malformed(), 1u) << "said twice, it is the same";
  closed.slots = 3;
  closed.message_bytes = 2500;
  receives.on_closed(closed, quiet.now());
  EXPECT_EQ(malformed(), 2u);
  EXPECT_EQ(receives.info(receive).bytes, 1500u);
}

// To refuse its CLOSED instead would keep the receive, and all behind it, open for ever.
TEST(Credit, a_message_that_got_a_slot_beyond_its_end_is_given_up) {
  Quiet quiet;
  const auto receive = quiet.post(8);
  const auto message = quiet.pair.a->sends().try_open({});
  ASSERT_TRUE(message && quiet.pair.a->sends().append(*message, 0, {quiet.memory.data(), 4096}));
  quiet.pair.run_for(50_ms);
  Closed closed;
  closed.slots = 2;
  closed.message_bytes = 1500;
  quiet.pair.b->recv_stream().on_closed(closed, quiet.now());
  EXPECT_EQ(quiet.status(receive), sdr::MessageStatus::GivenUp);
  EXPECT_TRUE(quiet.pair.b->receives().complete(receive, quiet.now()));
}

// Ids come back in every life: 8 places and 4 generations, all in use, come round in some 16 ms,
// while packets of that time ago keep coming. None of them may be taken for one of today's, neither
// by its generation nor, when that is the same again, as a transmission not seen before.
TEST(Credit, late_packets_of_older_generations_are_never_written) {
  WireScript script;
  script.delay = 15_ms;
  uint64_t count = 0;
  script.data = [&](const Packet&) { return ++count % 3 == 0 ? Fate::Double : Fate::Pass; };
  PairOptions options = small_pair();
  options.wire.delay = 2_ms;
  options.courier = {.bytes_max = 20000, .in_flight = 8, .posted = 8};
  Pair pair(options, script);
  ASSERT_TRUE(pair.delivers(500, 60_s));
  EXPECT_EQ(pair.courier().complaint(), "");
  EXPECT_EQ(pair.courier().lost_sends(), 0u);
  EXPECT_GT(pair.dropped_at_b(DropReason::generation_late), 0u);
}

TEST(Credit, chance_may_lose_double_and_reorder_every_clear_to_send) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Prng prng(seed);
    const WireScript calm;
    WireScript script;
    script.delay = 50_ms;
    script.control = [&](const Packet&) {
      const uint64_t dice = prng.below(10);
      return dice < 4 ? Fate::Lose : dice < 6 ? Fate::Double : dice < 8 ? Fate::Delay : Fate::Pass;
    };
    Pair pair(small_pair(seed), calm, script);
    EXPECT_TRUE(pair.delivers(50, 30_s));
    EXPECT_EQ(pair.courier().complaint(), "");
  }
}

// ---- path ----
// Paths that die, shrink and come back while a link is up, found out by the link's own questions
// and by what the peer reports [C-10] [C-58] [C-59].

/// Packets longer than `most` on paths of `holed`, one bit each, are lost; data is counted.
struct Hole {
  uint32_t holed = 0;
  uint32_t most = slot_write_header_bytes + 1024 - 1;
  std::array<uint64_t, limits::paths_max> data{};

  WireScript script() {
    WireScript script;
    script.control = [this](const Packet& packet) { return fate_of(packet); };
    script.data = [this](const Packet& packet) {
      ++data[packet.path];
      return fate_of(packet);
    };
    return script;
  }
  Fate fate_of(const Packet& packet) const {
    const bool is_long = packet.bytes + packet.payload_bytes > most;
    return is_long && (holed >> packet.path & 1) != 0 ? Fate::Lose : Fate::Pass;
  }
};

PairOptions pair_with(uint16_t paths) {
  PairOptions options = reliable_pair();
  options.a.paths = options.b.paths = paths;
  return options;
}
/// Of which the link always has something to send.
PairOptions busy_pair_with(uint16_t paths) {
  PairOptions options = pair_with(paths);
  options.courier = {.bytes_max = 40'000, .in_flight = 7, .posted = 8};
  return options;
}

uint32_t too_small(const std::unique_ptr<Site>& site) {
  return site->link().path_health().too_small();
}
uint32_t up(const std::unique_ptr<Site>& site) { return site->link().path_health().up(); }

class Paths : public testing::Test {
 protected:
  void make(uint16_t paths, const PairOptions* options = nullptr) {
    from_a_ = there_.script();
    from_b_ = back_.script();
    pair_.emplace(options == nullptr ? pair_with(paths) : *options, from_a_, from_b_);
    ASSERT_TRUE(pair_->delivers(5, 3_s));
  }
  Pair& pair() { return *pair_; }

  Hole there_, back_;

 private:
  WireScript from_a_, from_b_;
  std::optional<Pair> pair_;
};

TEST_F(Paths, one_alone_that_shrinks_is_noticed_by_who_sends_there_and_so_is_its_recovery) {
  make(1);
  there_.holed = 1;
  ASSERT_TRUE(pair().run_until([&] { return too_small(pair().a) == 1; }, 15_s));
  EXPECT_EQ(too_small(pair().b), 0u);
  EXPECT_TRUE(pair().are_up());
  there_.holed = 0;
  ASSERT_TRUE(pair().run_until([&] { return too_small(pair().a) == 0; }, 1_s));
  EXPECT_TRUE(pair().delivers(20, 3_s));
  EXPECT_EQ(pair().courier().complaint(), "");
}

TEST_F(Paths, one_of_several_that_shrinks_keeps_data_off_it) {
  make(3);
  there_.holed = 1 << 1;
  ASSERT_TRUE(pair().run_until([&] { return too_small(pair().a) == 1 << 1; }, 15_s));
  pair().run_for(1_s);  // what was under way is mended
  const uint64_t before = pair().a->counters().read_any_thread(Counter::resends_sent);
  EXPECT_TRUE(pair().delivers(50, 10_s));
  EXPECT_EQ(pair().a->counters().read_any_thread(Counter::resends_sent), before);
  there_.holed = 0;
  ASSERT_TRUE(pair().run_until([&] { return too_small(pair().a) == 0; }, 1_s));
  EXPECT_TRUE(pair().delivers(20, 3_s));
  EXPECT_EQ(pair().courier().complaint(), "");
}

TEST_F(Paths, that_all_shrink_are_told_and_data_goes_on_when_they_are_mended) {
  make(2);
  there_.holed = 3;
  ASSERT_TRUE(pair().run_until([&] { return too_small(pair().a) == 3; }, 15_s));
  there_.holed = 0;
  EXPECT_TRUE(pair().run_until([&] { return too_small(pair().a) == 0; }, 1_s));
  EXPECT_TRUE(pair().delivers(20, 5_s));
}

// Losses do not ask how long a packet is.
TEST_F(Paths, are_not_taken_for_small_because_they_lose_or_go_dark) {
  PairOptions options = pair_with(2);
  options.wire = {.loss = 0.05, .delay = 10_ms, .jitter_max = 15_ms, .jitter_reorders = true};
  make(2, &options);
  uint32_t seen = 0;
  const auto look = [&] { return seen |= too_small(pair().a) | too_small(pair().b), false; };
  (void)pair().run_until(look, 200_s);
  EXPECT_EQ(seen, 0u);
  there_.most = 0;  // not a packet
  there_.holed = 3;
  (void)pair().run_until(look, 5_s);
  there_.holed = 0;
  (void)pair().run_until(look, 20_s);
  EXPECT_EQ(seen, 0u);
  EXPECT_TRUE(pair().delivers(20, 10_s));
}

// ---- one that dies ----

class DyingPath : public Paths {
 protected:
  static constexpr Duration rtt = 20_ms;
  static constexpr Duration found = rtt * 4 + 100_ms;

  void make_busy(uint16_t paths) {
    const PairOptions options = busy_pair_with(paths);
    make(paths, &options);
    pair().run_for(1_s);
    ASSERT_EQ(up(pair().a), (1u << paths) - 1);
  }
  /// All packets of these paths, both ways or one.
  void kill(uint32_t paths, bool is_both_ways = true) {
    there_.most = back_.most = 0;
    there_.holed = paths;
    back_.holed = is_both_ways ? paths : 0;
  }
};

TEST_F(DyingPath,
       takes_no_data_after_four_round_trips_and_does_so_again_a_second_after_it_is_mended) {
  make_busy(4);
  kill(1 << 2);
  pair().run_for(found);
  EXPECT_EQ(up(pair().a), 0b1011u);
  const uint64_t before = there_.data[2];
  const uint64_t others = there_.data[1];
  pair().run_for(10_s);
  EXPECT_EQ(up(pair().b), 0b1011u) << "it sends no data, and takes its time";
  EXPECT_EQ(there_.data[2], before);
  EXPECT_GT(there_.data[1], others + 1000);
  kill(0);
  pair().run_for(1_s);
  EXPECT_EQ(up(pair().a), 0b1111u);
  EXPECT_GT(there_.data[2], before);
  EXPECT_EQ(pair().courier().complaint(), "");
}

TEST_F(DyingPath, one_way_is_left_by_who_sends_there_alone) {
  make_busy(3);
  kill(1 << 1, false);
  pair().run_for(found);
  EXPECT_EQ(up(pair().a), 0b101u);
  kill(0);
  pair().run_for(1_s);
  EXPECT_EQ(up(pair().a), 0b111u);
}

TEST_F(DyingPath, that_loses_long_packets_alone_is_found_out_as_fast) {
  make_busy(4);
  there_.holed = 1;
  pair().run_for(found);
  EXPECT_EQ(up(pair().a), 0b1110u);
  EXPECT_EQ(too_small(pair().a), 1u);
  const uint64_t before = there_.data[0];
  pair().run_for(5_s);
  EXPECT_EQ(there_.data[0], before);
  there_.holed = 0;
  pair().run_for(1_s);
  EXPECT_EQ(up(pair().a), 0b1111u);
}

// By short questions alone: long ones are ten seconds apart, and eight must be missed.
TEST_F(DyingPath, is_found_out_where_no_data_crosses_as_well) {
  PairOptions options = pair_with(2);
  options.courier.messages = 10;
  make(2, &options);
  pair().run_for(1_s);
  ASSERT_EQ(up(pair().a), 0b11u);
  kill(1 << 1);
  EXPECT_TRUE(pair().run_until([&] { return up(pair().a) == 0b01u; }, 10_s));
}

TEST_F(DyingPath, that_was_dead_at_the_start_takes_no_data_until_it_answers) {
  kill(1 << 1);
  const PairOptions options = busy_pair_with(2);
  make(2, &options);
  pair().run_for(1_s);
  const uint64_t before = there_.data[1];
  EXPECT_LT(before, 100u);
  pair().run_for(1_s);
  EXPECT_EQ(there_.data[1], before);
  kill(0);
  pair().run_for(1_s);
  EXPECT_GT(there_.data[1], before);
}

TEST_F(DyingPath, is_none_because_of_chance) {
  PairOptions options = busy_pair_with(4);
  options.wire.loss = 0.05;
  make(4, &options);
  pair().run_for(2_s);
  uint64_t downs = 0, looks = 0;
  const auto look = [&] { return ++looks, downs += up(pair().a) != 0b1111u, false; };
  (void)pair().run_until(look, 60_s);
  EXPECT_EQ(downs, 0u) << looks;
}

// [C-57]
TEST_F(DyingPath, numbers_that_differ_at_the_two_ends_are_agreed_on) {
  PairOptions options = busy_pair_with(4);
  options.b.paths = 2;
  make(4, &options);
  pair().run_for(1_s);
  EXPECT_EQ(up(pair().a), 0b11u);
  EXPECT_EQ(up(pair().b), 0b11u);
  EXPECT_EQ(there_.data[2] + there_.data[3], 0u);
  EXPECT_GT(there_.data[0], 100u);
  EXPECT_EQ(pair().dropped_at_b(DropReason::path_unknown), 0u);
  EXPECT_EQ(pair().courier().complaint(), "");
}

}  // namespace

}  // namespace cw::sim
