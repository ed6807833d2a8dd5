// Packets to groups, and what they save: bytes times hops of an allgather, counted at the links.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/unit/port_fabric/talk.h"

namespace cw::test {
namespace {

using namespace literals;

constexpr uint16_t group = 0xf003;

TEST(FabricMulticast, reaches_every_member_but_its_sender_and_crosses_each_link_once) {
  Talk talk(two_leaves(4, 2));
  for (const uint16_t host : {0, 1, 5, 7}) EXPECT_TRUE(talk.network.port(host).join(group));
  EXPECT_FALSE(talk.network.port(0).join(group)) << "it is a member";
  talk.say(5, group, "to all", {.path = 3, .ecn = 1});
  std::vector<Heard> heard = talk.hear_all();
  std::ranges::sort(heard, {}, &Heard::host);
  ASSERT_EQ(heard.size(), 3u);
  EXPECT_EQ(heard[0],
            (Heard{.host = 0, .from = 5, .path = 3, .ecn = 1, .at_ns = 4 * 506, .text = "to all"}));
  EXPECT_EQ(heard[1].host, 1);
  EXPECT_EQ(heard[2],
            (Heard{.host = 7, .from = 5, .path = 3, .ecn = 1, .at_ns = 2 * 506, .text = "to all"}));
  for (uint32_t link = 0; link < talk.network.topology().links().size(); ++link) {
    EXPECT_LE(talk.network.counters_of(link).packets, 1u);
  }
  EXPECT_EQ(talk.network.counters().hops, 6u);
  EXPECT_EQ(talk.network.counters().copies, 2u);
  EXPECT_TRUE(adds_up(talk.network.counters()));
}

TEST(FabricMulticast, all_its_copies_name_the_senders_own_payload) {
  Talk talk(two_leaves(4, 2), {.carry_bytes = false});
  for (const uint16_t host : {0, 1, 5}) talk.network.join(host, group);
  std::string payload = "shared";
  Packet* packet = nullptr;
  talk.network.port(0).take_burst({&packet, 1});
  packet->bytes = 56;
  packet->peer = group;
  packet->payload = reinterpret_cast<const uint8_t*>(payload.data());
  packet->payload_bytes = 6;
  talk.network.port(0).tx_burst({&packet, 1}, talk.network.now());
  talk.network.advance_to(Instant::from_ns(10'000));
  for (const uint16_t host : {1, 5}) {
    ASSERT_EQ(talk.network.port(host).rx_burst({&packet, 1}, talk.network.now()), 1u);
    EXPECT_EQ(packet->payload, reinterpret_cast<const uint8_t*>(payload.data()));
    talk.network.port(host).give_back({&packet, 1});
  }
}

TEST(FabricMulticast, who_is_no_member_or_alone_reaches_nobody) {
  Talk talk(two_leaves());
  talk.network.join(0, group);
  talk.say(1, group, "no member");
  talk.say(0, group, "alone");
  EXPECT_TRUE(talk.hear_all().empty());
  EXPECT_EQ(talk.network.counters().unrouted, 2u);
  EXPECT_TRUE(adds_up(talk.network.counters()));
}

TEST(FabricMulticast, a_branch_without_room_leaves_the_others_theirs) {
  Talk talk(two_leaves(4, 1, {.port_limit = 150_B}));
  for (const uint16_t host : {0, 1, 2}) talk.network.join(host, group);
  talk.say(3, 1, hundred_bytes);
  talk.say(0, group, hundred_bytes);
  std::vector<uint16_t> hosts;
  for (const Heard& heard : talk.hear_all()) hosts.push_back(heard.host);
  EXPECT_EQ(hosts, (std::vector<uint16_t>{1, 2})) << "1 has heard of 3 alone";
  EXPECT_EQ(talk.network.counters().dropped, 1u);
  EXPECT_TRUE(adds_up(talk.network.counters()));
}

TEST(FabricMulticast, copies_that_find_no_frame_are_lost_one_by_one) {
  Talk talk(two_leaves(4), {.frames = 2});
  for (uint16_t host = 0; host < 4; ++host) talk.network.join(host, group);
  talk.say(0, group, "to three");
  EXPECT_EQ(talk.hear_all().size(), 2u);
  EXPECT_EQ(talk.network.counters().no_frame, 1u);
  EXPECT_TRUE(adds_up(talk.network.counters()));
}

/// Each host has its part brought to all others; the hops that it took.
uint64_t multicast_hops(const Topology& topology) {
  Talk talk(topology, {.frames = 4096, .port_packets = 4});
  const uint16_t hosts = topology.host_count();
  for (uint16_t host = 0; host < hosts; ++host) talk.network.join(host, group);
  for (uint16_t host = 0; host < hosts; ++host) {
    talk.say(host, group, "part");
    EXPECT_EQ(talk.hear_all().size(), hosts - 1u);
  }
  return talk.network.counters().hops;
}

/// The same by a ring: each hands each part on to its neighbour.
uint64_t ring_hops(const Topology& topology) {
  Talk talk(topology, {.frames = 4096, .port_packets = 4});
  const uint16_t hosts = topology.host_count();
  for (uint16_t step = 0; step + 1 < hosts; ++step) {
    for (uint16_t host = 0; host < hosts; ++host) {
      talk.say(host, static_cast<uint16_t>((host + 1) % hosts), "part");
    }
    EXPECT_EQ(talk.hear_all().size(), hosts);
  }
  return talk.network.counters().hops;
}

TEST(FabricMulticast, an_allgather_of_188_saves_2_minus_2_parts_in_188_of_a_rings_hops) {
  const Topology topology = *make_leaf_spine({});
  EXPECT_EQ(multicast_hops(topology), 188u * (188 + 12));
  EXPECT_EQ(ring_hops(topology), 187u * (2 * 188 + 2 * 12));
  EXPECT_NEAR(187.0 * 400 / (188 * 200), 1.989, 0.001);
}

TEST(FabricMulticast, an_allgather_of_1024_saves_2_minus_2_parts_in_1024_of_a_rings_hops) {
  const Topology topology = *make_fat_tree({});
  EXPECT_EQ(multicast_hops(topology), 1024u * (1024 + 68));
  EXPECT_EQ(ring_hops(topology), 1023u * (2 * 1024 + 2 * 68));
  EXPECT_NEAR(1023.0 * 2184 / (1024 * 1092), 1.998, 0.001);
}

}  // namespace
}  // namespace cw::test
