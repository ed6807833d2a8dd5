// What links' models do to packets, hop by hop.
#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <vector>

#include "tests/unit/port_fabric/talk.h"

namespace cw::test {
namespace {

using namespace literals;

/// The link from switch `a` to switch `b`.
uint32_t between(const FabricNetwork& network, uint16_t a, uint16_t b) {
  return *network.topology().find_link(FabricNode::at_switch(a), FabricNode::at_switch(b));
}

TEST(FabricFaults, belong_to_one_link_and_one_direction) {
  Talk talk(two_leaves(2, 1));
  talk.network.set_impairment(between(talk.network, 0, 2), {.loss = 1});
  talk.say(0, 2, "there");
  talk.say(2, 0, "back");
  talk.say(0, 1, "beside");
  EXPECT_EQ(texts_of(talk.hear_all()), (std::vector<std::string>{"beside", "back"}));
  EXPECT_EQ(talk.network.counters().lost, 1u);
  EXPECT_EQ(talk.network.counters_of(between(talk.network, 0, 2)).packets, 1u) << "it has used it";
  EXPECT_TRUE(adds_up(talk.network.counters()));
  talk.network.set_impairment(between(talk.network, 0, 2), {});
  talk.say(0, 2, "mended");
  EXPECT_EQ(texts_of(talk.hear_all()), std::vector<std::string>{"mended"});
}

TEST(FabricFaults, a_packet_can_be_lost_at_each_hop_anew) {
  Talk talk(two_leaves(2, 1), {.seed = 5});
  talk.network.set_all_impairments({.loss = 0.1});
  for (int i = 0; i < 2000; ++i) {
    talk.say(0, 2, "x");
    talk.network.advance_to(talk.network.now() + 100_ns);
    talk.hear(2);
  }
  talk.hear_all();
  EXPECT_NEAR(double(talk.network.counters().delivered), 2000 * 0.9 * 0.9 * 0.9 * 0.9, 60);
  EXPECT_TRUE(adds_up(talk.network.counters()));
}

TEST(FabricFaults, who_is_lost_is_under_way_until_it_is_missing) {
  Talk talk(two_leaves());
  talk.network.set_impairment(talk.network.routes().link_from(0), {.loss = 1});
  talk.say(0, 1, hundred_bytes);
  talk.network.advance_to(Instant::from_ns(599));
  EXPECT_EQ(talk.network.counters().in_flight, 1u);
  talk.network.advance_to(Instant::from_ns(600));
  EXPECT_EQ(talk.network.counters().lost, 1u);
  EXPECT_EQ(talk.network.counters().in_flight, 0u);
}

TEST(FabricFaults, delay_and_reordering_come_on_top_of_the_cables) {
  Talk talk(two_leaves());
  talk.network.set_impairment(talk.network.routes().link_from(0), {.delay = 1_us});
  talk.say(0, 1, hundred_bytes);
  EXPECT_EQ(talk.hear_all()[0].at_ns, 1200 + 1000);
}

TEST(FabricFaults, copies_are_packets_of_their_own) {
  Talk talk(two_leaves());
  talk.network.set_impairment(talk.network.routes().link_from(0),
                              {.duplicate = 1, .copies_max = 3});
  talk.say(0, 1, hundred_bytes);
  const auto heard = talk.hear_all();
  ASSERT_EQ(heard.size(), 3u);
  EXPECT_EQ(heard[2].at_ns, 1400) << "they queue at the switch";
  EXPECT_EQ(talk.network.counters().copies, 2u);
  EXPECT_TRUE(adds_up(talk.network.counters()));
}

TEST(FabricFaults, damage_is_found_by_the_host_or_is_one_bit_of_what_it_gets) {
  for (const bool checks : {true, false}) {
    Talk talk(two_leaves(), {.icrc = checks ? IcrcMode::Exact : IcrcMode::None});
    talk.network.set_impairment(between(talk.network, 0, 2), {.corrupt = 1});
    talk.say(0, 3, hundred_bytes);
    const auto heard = talk.hear_all();
    EXPECT_EQ(talk.network.port(3).counters().rx_malformed, checks ? 1u : 0u);
    EXPECT_EQ(talk.network.counters().rx_damaged, checks ? 1u : 0u);
    EXPECT_TRUE(adds_up(talk.network.counters()));
    if (checks) continue;
    ASSERT_EQ(heard.size(), 1u);
    int flipped = 0;
    for (const char c : heard[0].text) flipped += std::popcount(uint8_t(c ^ 'x'));
    EXPECT_EQ(flipped, 1);
  }
}

TEST(FabricFaults, damage_beyond_the_bytes_carried_is_always_found) {
  Talk talk(two_leaves(), {.overhead_bytes = 20'000, .icrc = IcrcMode::None});
  talk.network.set_all_impairments({.corrupt = 1});
  talk.say(0, 1, "x");
  EXPECT_TRUE(talk.hear_all().empty());
  EXPECT_EQ(talk.network.counters().rx_damaged, 1u);
}

TEST(FabricFaults, targeted_packets_are_known_by_the_key_function) {
  const PacketKey first_byte = [](const Packet& packet) { return uint64_t{packet.data[0]}; };
  Talk talk(two_leaves(), {.key = first_byte});
  talk.network.set_impairment(talk.network.routes().link_from(0),
                              {.targeted = {.first = 2, .resends = 1}});
  for (const char* text : {"a", "b", "c", "b", "b"}) talk.say(0, 1, text);
  EXPECT_EQ(texts_of(talk.hear_all()), (std::vector<std::string>{"a", "c", "b"}));
}

TEST(FabricFaults, of_one_link_leave_the_chances_of_others_alone) {
  // Who of fifty comes to `host`, while one link loses half of them, or two links do.
  const auto heard_by = [](uint16_t host, bool loses_others) {
    Talk talk(two_leaves());
    talk.network.set_impairment(talk.network.routes().link_from(0), {.loss = 0.5});
    if (loses_others) {
      talk.network.set_impairment(talk.network.routes().link_from(2), {.loss = 0.5});
    }
    for (int i = 0; i < 50; ++i) {
      talk.say(2, 3, std::to_string(i));
      talk.say(0, 1, std::to_string(i));
    }
    auto heard = talk.hear_all();
    std::erase_if(heard, [&](const Heard& each) { return each.host != host; });
    return texts_of(heard);
  };
  EXPECT_EQ(heard_by(1, false), heard_by(1, true));
  EXPECT_NE(heard_by(1, true), heard_by(3, true));
  EXPECT_LT(heard_by(1, true).size(), 45u);
}

}  // namespace
}  // namespace cw::test
