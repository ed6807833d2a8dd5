// How epochs begin, and what of older ones is still on its way.
#include <gtest/gtest.h>

#include <cstdio>

#include "dataplane/wire/roce_inline.h"
#include "tests/sim/sdr/intruder.h"
#include "tests/sim/sdr/pair.h"

namespace cw::sim {
namespace {
using namespace literals;

// ---- Two ends meet over a wire that loses, doubles and delays what they say ----

/// The first control packets meet these fates, the others pass.
WireScript fates_of(std::vector<Fate> fates) {
  auto next = std::make_shared<size_t>(0);
  WireScript script;
  script.control = [fates = std::move(fates), next](const Packet&) {
    return *next < fates.size() ? fates[(*next)++] : Fate::Pass;
  };
  return script;
}

/// Whether a link behind that wire comes up and delivers.
void expect_to_meet(const std::vector<Fate>& fates) {
  const WireScript script = fates_of(fates);
  Pair pair(reliable_pair(), script);
  std::string told;
  for (const Fate fate : fates) told += "-LDd"[static_cast<int>(fate)];
  ASSERT_TRUE(pair.run_until([&] { return pair.are_up(); }, 5_s))
      << told << ": a: " << pair.a->link().why() << ", b: " << pair.b->link().why();
  ASSERT_TRUE(pair.delivers(3, 2_s)) << told;
  ASSERT_EQ(pair.courier().complaint(), "") << told;
}

// Doubled packets leave no trace: every record is absolute [C-16].
TEST(Handshake, every_subset_of_the_first_eight_control_packets_may_meet_one_fate) {
  constexpr size_t packets = 8;
  for (const Fate fate : {Fate::Lose, Fate::Double, Fate::Delay}) {
    for (uint32_t subset = 0; subset < 1u << packets; ++subset) {
      std::vector<Fate> fates(packets, Fate::Pass);
      for (size_t i = 0; i < packets; ++i) {
        if (subset >> i & 1) fates[i] = fate;
      }
      ASSERT_NO_FATAL_FAILURE(expect_to_meet(fates));
    }
  }
}

TEST(Handshake, the_first_five_control_packets_may_meet_every_mixture_of_fates) {
  constexpr size_t packets = 5;
  for (uint32_t choice = 0; choice < 1u << 2 * packets; ++choice) {
    std::vector<Fate> fates(packets);
    for (size_t i = 0; i < packets; ++i) fates[i] = static_cast<Fate>(choice >> 2 * i & 3);
    ASSERT_NO_FATAL_FAILURE(expect_to_meet(fates));
  }
}

TEST(Handshake, chance_may_do_what_it_likes_with_control_for_seconds) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Prng prng(seed);
    bool is_calm = false;
    WireScript script;
    script.delay = Duration::from_ms(static_cast<int64_t>(1 + prng.below(100)));
    const uint64_t losses = prng.below(60), doubles = prng.below(30), delays = prng.below(30);
    script.control = [&](const Packet&) {
      const uint64_t dice = is_calm ? 100 : prng.below(100);
      return dice < losses                      ? Fate::Lose
             : dice - losses < doubles          ? Fate::Double
             : dice - losses - doubles < delays ? Fate::Delay
                                                : Fate::Pass;
    };
    Pair pair(reliable_pair(seed), script);
    pair.run_for(2_s);
    is_calm = true;
    ASSERT_TRUE(pair.run_until([&] { return pair.are_up(); }, 5_s));
    ASSERT_TRUE(pair.delivers(20, 5_s));
    pair.courier().stop();
    ASSERT_TRUE(pair.run_until([&] { return pair.courier().is_idle(); }, 5_s));
    ASSERT_EQ(pair.courier().complaint(), "");
    ASSERT_EQ(pair.courier().lost_sends(), 0u) << "control packets alone end no epoch";
  }
}

/// What both ends say after a while; both must be down.
struct Complaints {
  std::string a, b;
};
Complaints why_down(const PairOptions& options) {
  const WireScript script;
  Pair pair(options, script);
  pair.run_for(3_s);
  EXPECT_FALSE(pair.a->is_up());
  EXPECT_FALSE(pair.b->is_up());
  return {pair.a->link().why(), pair.b->link().why()};
}

TEST(Handshake, a_differing_pair_key_keeps_the_link_down_and_is_named_with_both_values) {
  PairOptions options = reliable_pair();
  options.a.pair_keys = {{"code", "mds 8+2"}, {"message_bytes", "1 MiB"}};
  options.b.pair_keys = {{"code", "mds 8+2"}, {"message_bytes", "2 MiB"}};
  const Complaints why = why_down(options);
  EXPECT_EQ(why.a, "message_bytes is 1 MiB here and 2 MiB at the peer: [pair] keys must be equal");
  EXPECT_EQ(why.b, "message_bytes is 2 MiB here and 1 MiB at the peer: [pair] keys must be equal");
}

TEST(Handshake, a_pair_key_that_only_one_end_has_is_named_at_both) {
  PairOptions options = reliable_pair();
  options.a.pair_keys = {{"code", "mds"}};
  const Complaints why = why_down(options);
  EXPECT_EQ(why.a, "code is mds here and not set at the peer: [pair] keys must be equal");
  EXPECT_EQ(why.b, "code is not set here and mds at the peer: [pair] keys must be equal");
}

TEST(Handshake, streams_of_another_shape_are_named_as_pair_keys_are) {
  PairOptions options = reliable_pair();
  options.b.stream.messages = 16;
  const Complaints why = why_down(options);
  EXPECT_EQ(why.a, "qp0.messages is 8 here and 16 at the peer: [pair] keys must be equal");
  EXPECT_EQ(why.b, "qp0.messages is 16 here and 8 at the peer: [pair] keys must be equal");
}

TEST(Handshake, a_site_that_is_not_the_one_meant_is_named_at_both_ends) {
  PairOptions options = reliable_pair();
  options.a.name = "north", options.a.peer_name = "south";
  options.b.name = "east", options.b.peer_name = "north";
  const Complaints why = why_down(options);
  EXPECT_EQ(why.a,
            "peer \"south\" says it is site \"east\"; correct its address, or name the peer "
            "\"east\" if that is who was meant");
  EXPECT_EQ(why.b,
            "peer \"north\" takes this site for \"south\", and it is \"east\"; correct the "
            "address or the name in its list of peers");
}

TEST(Handshake, an_end_without_names_says_none_and_asks_for_none) {
  PairOptions options = reliable_pair();
  options.a.name = "north", options.a.peer_name = "south";
  options.b.name.clear();
  const WireScript script;
  Pair pair(options, script);
  EXPECT_TRUE(pair.run_until([&] { return pair.are_up(); }, 5_s)) << pair.a->link().why();
}

// A name comes from outside, and ends up in a log.
TEST(Handshake, a_site_with_a_hostile_name_is_named_without_its_bytes) {
  PairOptions options = reliable_pair();
  options.a.peer_name = "south";
  options.b.name = std::string("a\nb\x1b[2J") + std::string(500, 'x');
  const Complaints why = why_down(options);
  EXPECT_TRUE(why.a.starts_with("peer \"south\" says it is site \"a?b?[2Jxxx")) << why.a;
  EXPECT_LT(why.a.size(), 400u);
}

// [C-18]
TEST(Handshake, a_hello_that_does_not_fit_is_named_with_both_values) {
  PairOptions options = reliable_pair();
  options.b.stream.split = ImmediateSplit(8, 22, 2);
  const Complaints why = why_down(options);
  EXPECT_EQ(why.a, "message_id_bits is 10 here and 8 at the peer: both ends must have the same");
  EXPECT_EQ(why.b, "message_id_bits is 8 here and 10 at the peer: both ends must have the same");
}

TEST(Handshake, ends_with_other_qps_name_what_is_different) {
  PairOptions options = reliable_pair();
  options.b.weights = {1, 1};
  const Complaints why = why_down(options);
  EXPECT_EQ(why.a, "the number of QPs is 1 here and 2 at the peer: both ends must have the same");
  EXPECT_EQ(why.b, "the number of QPs is 2 here and 1 at the peer: both ends must have the same");

  const WireScript script;
  Pair pair(reliable_pair(), script);
  sdr::QpOptions qp;
  qp.policy = {cw_policy_passthrough(), {}};
  for (const auto* site : {&pair.a, &pair.b}) {
    ++qp.stream.qp;
    ASSERT_TRUE((*site)->link().add_qp(qp, pair.network().now()));
  }
  pair.run_for(3_s);
  EXPECT_FALSE(pair.a->is_up() || pair.b->is_up());
  EXPECT_EQ(pair.a->link().why(),
            "qp2.message_id_bits is not set here and 10 at the peer: [pair] keys must be equal");
  EXPECT_EQ(pair.b->link().why(),
            "qp1.message_id_bits is not set here and 10 at the peer: [pair] keys must be equal");
}

// [C-3]
TEST(Handshake, another_key_file_keeps_the_link_down_and_is_counted_at_both_ends) {
  PairOptions options = reliable_pair();
  options.b.key = "the secret of somebody else";
  const WireScript script;
  Pair pair(options, script);
  pair.run_for(3_s);
  EXPECT_FALSE(pair.a->is_up() || pair.b->is_up());
  EXPECT_GT(pair.dropped_at_a(DropReason::control_mac), 0u);
  EXPECT_GT(pair.dropped_at_b(DropReason::control_mac), 0u);
  EXPECT_EQ(pair.a->link().why(),
            "no answer from the peer: is it running, with the same key, and do packets as long as "
            "pair.mtu get there?");
}

// [C-18] The slot is the smaller of the two.
TEST(Handshake, ends_with_different_payloads_agree_on_the_smaller) {
  PairOptions options = reliable_pair();
  options.b.stream.payload_bytes = 256;
  const WireScript script;
  Pair pair(options, script);
  EXPECT_TRUE(pair.delivers(20, 3_s)) << pair.a->link().why();
  EXPECT_EQ(pair.a->link().payload_bytes(), 256u);
  EXPECT_EQ(pair.courier().complaint(), "");
}

// [C-10] Small packets pass, full ones do not: such a path must not come up.
TEST(Handshake, an_mtu_hole_keeps_the_link_down) {
  const uint32_t hole = slot_write_header_bytes + 1024 - 1;
  for (const bool is_both_ways : {true, false}) {
    const WireScript whole;
    WireScript holed;
    uint32_t lost = 0;
    holed.control = [&](const Packet& packet) {
      const bool is_long = packet.bytes + packet.payload_bytes > hole;
      lost += is_long;
      return is_long ? Fate::Lose : Fate::Pass;
    };
    Pair pair(reliable_pair(), holed, is_both_ways ? holed : whole);
    pair.run_for(3_s);
    EXPECT_FALSE(pair.a->is_up() || pair.b->is_up());
    EXPECT_GT(lost, 3u);
    for (const auto* site : {&pair.a, &pair.b}) {
      const std::string why = (*site)->link().why();
      EXPECT_NE(why.find("packets as long as pair.mtu"), std::string::npos) << why;
    }
  }
}

// [C-10]
TEST(Handshake, a_link_that_is_up_says_a_hello_of_full_size_every_ten_seconds) {
  uint32_t full = 0;
  WireScript script;
  script.control = [&](const Packet& packet) {
    full += packet.bytes == slot_write_header_bytes + 1024;
    EXPECT_LE(packet.bytes, slot_write_header_bytes + 1024);
    return Fate::Pass;
  };
  Pair pair(reliable_pair(), script);
  ASSERT_TRUE(pair.run_until([&] { return pair.are_up(); }, 3_s));
  const uint32_t before = full;
  pair.run_for(121_s);
  EXPECT_EQ(full - before, 24u);
}

// [C-41]
TEST(Handshake, each_path_is_measured_by_echoes_that_take_it) {
  PairOptions options = reliable_pair();
  options.a.paths = options.b.paths = 2;
  const WireScript script;
  Pair pair(options, script);
  pair.network().set_impairment(pair.a_sim(), {pair.peers().of_first, 1}, {.delay = 30_ms});
  pair.network().set_impairment(pair.b_sim(), {pair.peers().of_second, 1}, {.delay = 30_ms});
  ASSERT_TRUE(pair.delivers(10, 3_s));
  const Instant now = pair.network().now();
  EXPECT_NEAR(static_cast<double>(pair.a->link().path_state(0, now).rtt_smoothed.ns()), 20e6, 1e6);
  EXPECT_NEAR(static_cast<double>(pair.a->link().path_state(1, now).rtt_smoothed.ns()), 60e6, 1e6);
}

TEST(Handshake, ends_meet_by_any_path_that_carries) {
  for (const uint16_t living : {0, 1, 2}) {
    PairOptions options = reliable_pair();
    options.a.paths = options.b.paths = 3;
    WireScript script;
    script.control = script.data = [=](const Packet& packet) {
      return packet.path == living ? Fate::Pass : Fate::Lose;
    };
    Pair pair(options, script);
    EXPECT_TRUE(pair.run_until([&] { return pair.are_up(); }, 10_s)) << living;
  }
}

TEST(Handshake, a_short_link_that_carries_nothing_is_asked_ever_less_often) {
  PairOptions options = reliable_pair();
  options.wire.delay = 50_us;
  uint64_t controls = 0;
  WireScript script;
  script.control = [&](const Packet&) {
    ++controls;
    return Fate::Pass;
  };
  Pair pair(options, script);
  ASSERT_TRUE(pair.delivers(1, 3_s));
  pair.courier().stop();
  pair.run_for(2_s);
  const uint64_t before = controls;
  pair.run_for(10_s);
  // Four questions a second from each end, an answer each, a hello each, a hello a second.
  EXPECT_LT(controls - before, 10u * 2 * 10);
  EXPECT_GT(controls - before, 10u * 2 * 4);
  EXPECT_TRUE(pair.are_up());
}

// ---- old packets ----
// A network that keeps packets for hours and hands them over again, or for the first time: ids and
// generations come round, transmission numbers do not for a long while.

/// Everything that the sender ever sent; a few of it were not let through at first.
struct Archive {
  explicit Archive(uint64_t seed) : prng(seed) {
    script.data = [this](const Packet& packet) {
      kept.emplace_back(packet.data, packet.data + packet.bytes);
      kept.back().insert(kept.back().end(), packet.payload, packet.payload + packet.payload_bytes);
      return prng.below(50) == 0 ? Fate::Lose : Fate::Pass;
    };
  }
  const PacketBytes& any() { return kept[prng.below(kept.size())]; }

  Prng prng;
  WireScript script;
  std::vector<PacketBytes> kept;
};

PairOptions small_pair(uint64_t seed) {
  PairOptions options = reliable_pair(seed);
  options.wire.delay = 2_ms;
  options.courier = {.bytes_max = 20'000, .in_flight = 8, .posted = 8};
  return options;
}

/// Messages flow, and now and then `burst` packets of any age come back.
void expect_unharmed(uint64_t seed, size_t burst, Duration pause, bool to_rnic = false) {
  SCOPED_TRACE("seed " + std::to_string(seed) + " burst " + std::to_string(burst));
  Archive archive(seed);
  const WireScript calm;
  PairOptions options = small_pair(seed);
  options.b.has_rnic = to_rnic;
  Pair pair(options, archive.script, calm);
  ASSERT_TRUE(pair.delivers(20, 3_s));
  const Instant end = pair.network().now() + 3_s;
  while (pair.network().now() < end) {
    for (size_t i = 0; i < burst; ++i) inject(pair, archive.any());
    pair.run_for(pause);
  }
  EXPECT_TRUE(pair.delivers(50, 5_s));
  EXPECT_EQ(pair.courier().complaint(), "");
  EXPECT_EQ(pair.courier().lost_sends(), 0u);
  EXPECT_GT(pair.courier().delivered_count(), 2000u) << "rounds of 32 messages";
  const uint64_t refused =
      to_rnic ? pair.b->rnic().refused_count() : pair.dropped_at_b(DropReason::generation_late);
  EXPECT_GT(refused, 1000u);
}

// [C-56]
TEST(OldPackets, single_ones_of_any_age_are_never_written) {
  for (uint64_t seed = 1; seed <= 5; ++seed) expect_unharmed(seed, 1, 1_ms);
}

// Hardware knows nothing of lives: the window that they name is closed.
TEST(OldPackets, are_never_written_where_hardware_places_payload) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    expect_unharmed(seed, 1, 1_ms, /*to_rnic=*/true);
    expect_unharmed(seed, 200, 100_ms, /*to_rnic=*/true);
  }
}

// A ring of old descriptors read again: nothing new comes in between.
TEST(OldPackets, a_row_of_them_is_not_taken_for_a_sender_that_has_begun_anew) {
  for (uint64_t seed = 1; seed <= 5; ++seed) expect_unharmed(seed, 200, 100_ms);
}

// Seed 900496 of the swarm: nothing has come on its channel since that would show how old it is.
TEST(OldPackets, what_was_lost_on_a_channel_that_fell_silent_is_never_written) {
  PairOptions options;
  options.a.stream.messages = 2;
  options.a.stream.channels = 2;
  options.a.stream.chunk_slots = 1;
  options.b = options.a;
  const uint64_t lives_apart = options.a.stream.messages * options.a.stream.generations;
  // The first message and the next of its id and generation alone have a slot of the second
  // channel.
  options.courier = {.in_flight = 1,
                     .posted = 2,
                     .messages = 2 * lives_apart,
                     .bytes_of = [=](uint64_t i) { return i % lives_apart == 0 ? 2000 : 1000; },
                     .patience = 50_ms};
  Recorded lost{.withholds_data = true};
  WireScript script;
  script.data = [&](const Packet& packet) {
    SlotWrite slot;
    const size_t bytes = size_t{packet.bytes} + packet.payload_bytes;
    CW_ASSERT(try_parse_slot_write({packet.data, packet.bytes}, bytes, slot));
    const bool is_it = lost.data.empty() && split_default.unpack(slot.immediate).slot > 0;
    return is_it ? lost.take_data(packet) : Fate::Pass;
  };
  const WireScript calm;
  Pair pair(options, script, calm);
  ASSERT_TRUE(pair.run_until([&] { return pair.courier().sent_count() == lives_apart; }, 3_s));
  while (!pair.courier().is_done() && pair.network().now() < Instant() + 10_s) {
    inject(pair, lost.data);
    pair.run_for(1_ms);
  }
  EXPECT_TRUE(pair.courier().is_done());
  EXPECT_EQ(pair.courier().complaint(), "");
}

// A damaged or forged number, which once made everything that followed look old.
TEST(OldPackets, a_number_of_the_future_makes_nothing_look_old) {
  Recorded recorded;
  WireScript script;
  script.data = [&](const Packet& packet) { return recorded.take_data(packet); };
  const WireScript calm;
  PairOptions options = small_pair(1);
  Pair pair(options, script, calm);
  ASSERT_TRUE(pair.delivers(20, 3_s));
  const Intruder intruder(recorded, options.a.key);
  inject(pair, intruder.slot([](SlotWrite& slot) { slot.psn = slot.psn + 5'000'000; }));
  EXPECT_TRUE(pair.delivers(200, 5_s));
  EXPECT_EQ(pair.courier().complaint(), "");
  EXPECT_LE(pair.dropped_at_b(DropReason::generation_late), 1u) << "that one";
}

}  // namespace

}  // namespace cw::sim
