// Two ends meet over a wire that loses, doubles and delays what they say.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/sim/sdr/pair.h"

namespace cw::sim {
namespace {
using namespace literals;

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

}  // namespace
}  // namespace cw::sim
