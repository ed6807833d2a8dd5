// The machines of a LAN as its router knows them, without a wire.
#include "dataplane/neighbour/lan_neighbours.h"

#include <gtest/gtest.h>

#include "tests/property/property.h"

namespace cw::test {
namespace {
using namespace literals;

constexpr uint64_t key[2] = {1, 2};
constexpr MacAddress host_mac = {2, 0, 0, 0, 0, 9}, other_mac = {2, 0, 0, 0, 0, 8};

HostAddress host(const char* text) { return *parse_host_address(text, "test"); }

LanNeighbours lan() {
  LanNeighbours it({{host("10.1.0.1"), 24}, {host("2001:db8::1"), 64}}, key);
  it.allow_questions();
  return it;
}
LanNeighbours lan_of_a_kernel() {
  LanNeighbours it = lan();
  it.join_kernel({host("10.1.0.1"), host("192.0.2.1")});
  return it;
}

NeighbourMessage message(bool is_question, const char* sender, const char* target) {
  return {.is_question = is_question,
          .sender = host(sender),
          .sender_mac = host_mac,
          .target = host(target)};
}

// ---- who shares a link with an address of ours

bool has_bit(const HostAddress& it, unsigned bit) { return it.ip[bit / 8] >> (7 - bit % 8) & 1; }

void expect_prefix_decides() {
  const bool is_v4 = *rc::gen::arbitrary<bool>();
  const unsigned bits_max = is_v4 ? 32 : 128;
  LanAddress ours;
  ours.ip.version = is_v4 ? IpVersion::V4 : IpVersion::V6;
  ours.bits = static_cast<uint8_t>(*rc::gen::inRange(0u, bits_max + 1));
  for (unsigned i = 0; i < bits_max / 8; ++i) ours.ip.ip[i] = *rc::gen::arbitrary<uint8_t>();
  HostAddress other = ours.ip;
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i) {
    const unsigned bit = *rc::gen::inRange(0u, bits_max);
    other.ip[bit / 8] ^= static_cast<uint8_t>(0x80 >> bit % 8);
  }
  bool is_alike = true;
  for (unsigned bit = 0; bit < ours.bits; ++bit) {
    is_alike &= has_bit(ours.ip, bit) == has_bit(other, bit);
  }
  RC_ASSERT(ours.is_on_link(other) == is_alike);
  other.version = is_v4 ? IpVersion::V6 : IpVersion::V4;
  RC_ASSERT(!ours.is_on_link(other));
}

TEST(LanAddress, has_on_its_link_who_begins_with_the_same_bits) {
  EXPECT_TRUE(rc::check("the prefix decides", expect_prefix_decides));
}

// ---- whom packets are handed to

TEST(LanNeighbours, who_passes_is_learned_and_need_not_be_asked_for) {
  LanNeighbours it = lan();
  const Instant now = Instant::from_ns(1);
  for (const char* who : {"10.1.0.2", "2001:db8::2", "10.9.9.9"}) {  // the last behind a router
    ASSERT_NE(it.learn(host(who), host_mac, now), nullptr) << who;
    const auto hop = it.hop_to(host(who), now);
    ASSERT_NE(hop.neighbour, nullptr) << who;
    EXPECT_EQ(hop.neighbour->mac, host_mac);
    EXPECT_FALSE(hop.is_to_be_asked_for);
  }
  EXPECT_EQ(it.known_count(), 3u);
}

TEST(LanNeighbours, nothing_is_learned_of_ourselves_and_of_who_is_nobody) {
  LanNeighbours it = lan();
  for (const char* who : {"10.1.0.1", "0.0.0.0", "127.0.0.1", "224.0.0.1", "::", "fe80::1"}) {
    EXPECT_EQ(it.learn(host(who), host_mac, Instant::from_ns(1)), nullptr) << who;
  }
}

TEST(LanNeighbours, who_is_on_the_link_is_asked_for_once_a_second_and_others_are_not) {
  LanNeighbours it = lan();
  Instant now = Instant::from_ns(1);
  EXPECT_TRUE(it.hop_to(host("10.1.0.2"), now).is_to_be_asked_for);
  EXPECT_FALSE(it.hop_to(host("10.1.0.2"), now).is_to_be_asked_for);
  now += 1_s;
  EXPECT_TRUE(it.hop_to(host("10.1.0.2"), now).is_to_be_asked_for);
  const auto beyond = it.hop_to(host("10.9.9.9"), now);
  EXPECT_FALSE(beyond.can_be_asked_for);
  EXPECT_EQ(beyond.neighbour, nullptr);
}

TEST(LanNeighbours, questions_are_bounded_until_more_are_allowed) {
  LanNeighbours it = lan();
  HostAddress target = host("10.1.0.0");
  const auto questions_for_100 = [&] {
    uint32_t count = 0;
    for (int i = 0; i < 100; ++i) {
      ++target.ip[3];
      if (target != host("10.1.0.1")) count += it.hop_to(target, Instant()).is_to_be_asked_for;
    }
    return count;
  };
  EXPECT_EQ(questions_for_100(), LanNeighbours::questions_max);
  EXPECT_EQ(questions_for_100(), 0u);
  EXPECT_TRUE(it.hop_to(host("10.1.0.250"), Instant()).can_be_asked_for);
  it.allow_questions();
  EXPECT_TRUE(it.hop_to(host("10.1.0.250"), Instant()).is_to_be_asked_for);
}

TEST(LanNeighbours, a_new_cable_makes_everybody_be_asked_for_and_stay_in_use) {
  LanNeighbours it = lan();
  const Instant now = Instant::from_ns(1);
  it.learn(host("10.1.0.2"), host_mac, now);
  it.doubt_all();
  const auto hop = it.hop_to(host("10.1.0.2"), now);
  EXPECT_TRUE(hop.is_to_be_asked_for);
  EXPECT_TRUE(hop.neighbour->is_known);
}

// ---- who asks, and who is heard

TEST(LanNeighbours, questions_for_our_addresses_alone_are_ours_to_answer) {
  LanNeighbours it = lan();
  const Instant now = Instant::from_ns(1);
  EXPECT_TRUE(it.hear(message(true, "10.1.0.2", "10.1.0.1"), now));
  EXPECT_TRUE(it.hear(message(true, "2001:db8::2", "2001:db8::1"), now));
  EXPECT_FALSE(it.hear(message(false, "10.1.0.2", "10.1.0.1"), now));
  EXPECT_FALSE(it.hear(message(true, "10.1.0.2", "10.1.0.3"), now));
  EXPECT_FALSE(it.hear(message(true, "0.0.0.0", "10.1.0.1"), now));
  EXPECT_EQ(it.known_count(), 2u);
}

TEST(LanNeighbours, arp_is_believed_against_what_was_heard_lately_and_a_packet_is_not) {
  LanNeighbours it = lan();
  const Instant now = Instant::from_ns(1);
  it.learn(host("10.1.0.2"), other_mac, now);
  it.hear(message(false, "10.1.0.2", "10.1.0.1"), now);
  EXPECT_EQ(it.hop_to(host("10.1.0.2"), now).neighbour->mac, host_mac);
  it.learn(host("10.1.0.2"), other_mac, now);
  EXPECT_EQ(it.hop_to(host("10.1.0.2"), now).neighbour->mac, host_mac);
}

TEST(LanNeighbours, strangers_of_another_prefix_take_nobodys_place) {
  LanNeighbours it = lan();
  it.hear(message(false, "10.9.9.9", "10.9.9.1"), Instant::from_ns(1));
  EXPECT_EQ(it.known_count(), 0u);
}

TEST(LanNeighbours, a_kernel_answers_and_is_asked_for_those_behind_routers) {
  LanNeighbours it = lan_of_a_kernel();
  const Instant now = Instant::from_ns(1);
  EXPECT_FALSE(it.hear(message(true, "10.1.0.2", "10.1.0.1"), now));
  EXPECT_TRUE(it.is_local(host("192.0.2.1")));
  EXPECT_EQ(it.learn(host("10.9.9.9"), host_mac, now), nullptr);
  const auto beyond = it.hop_to(host("10.9.9.9"), now);
  EXPECT_TRUE(beyond.can_be_asked_for);
  EXPECT_TRUE(beyond.is_to_be_asked_for);
}

}  // namespace
}  // namespace cw::test
