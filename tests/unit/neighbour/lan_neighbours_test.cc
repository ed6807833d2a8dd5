// Who is on the LAN.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "dataplane/neighbour/echo.h"
#include "dataplane/neighbour/lan_frame.h"
#include "dataplane/neighbour/open_checksum.h"
#include "dataplane/neighbour/table/lan_neighbours.h"
#include "dataplane/neighbour/table/neighbour_table.h"
#include "dataplane/wire/outer/checksum.h"
#include "tests/property/property.h"

namespace cw::test {
namespace {
using namespace literals;

// ---- The machines of a LAN as its router knows them, without a wire ----

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
    ASSERT_NE(it.learn(host(who), host_mac, now).neighbour, nullptr) << who;
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
    EXPECT_EQ(it.learn(host(who), host_mac, Instant::from_ns(1)).neighbour, nullptr) << who;
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
  EXPECT_EQ(it.learn(host("10.9.9.9"), host_mac, now).neighbour, nullptr);
  const auto beyond = it.hop_to(host("10.9.9.9"), now);
  EXPECT_TRUE(beyond.can_be_asked_for);
  EXPECT_TRUE(beyond.is_to_be_asked_for);
}
using namespace ip_layout;
using Bytes = std::vector<uint8_t>;

// ---- lan parts ----
// What a LAN port is made of: its table of neighbours, the answer to a ping, checksums that a
// kernel left open.

HostAddress host(uint32_t number) {
  HostAddress it;
  it.ip = {10, static_cast<uint8_t>(number >> 16), static_cast<uint8_t>(number >> 8),
           static_cast<uint8_t>(number)};
  return it;
}
MacAddress mac(uint32_t number) {
  return {2, 0, 0, 0, static_cast<uint8_t>(number >> 8), static_cast<uint8_t>(number)};
}

// ---- the table

RC_GTEST_PROP(NeighbourTable, remembers_what_was_heard_last_of_each_that_it_has, ()) {
  NeighbourTable table(64, key);
  std::map<uint32_t, uint32_t> model;
  Instant now = Instant::from_ns(1);
  const auto heard = *rc::gen::container<std::vector<std::pair<uint32_t, uint32_t>>>(
      rc::gen::pair(rc::gen::inRange(1u, 200u), rc::gen::inRange(0u, 9u)));
  for (const auto& [number, from] : heard) {
    now += 1_ms;
    table.take(host(number)).hear(mac(from), now);
    model[number] = from;
    RC_ASSERT(table.find(host(number)) != nullptr);  // the newest has a place
  }
  size_t found = 0;
  for (const auto& [number, from] : model) {
    const Neighbour* const it = table.find(host(number));
    if (it == nullptr) continue;
    ++found;
    RC_ASSERT(it->is_known);
    RC_ASSERT((it->mac == mac(from)));
  }
  RC_ASSERT(found == table.known_count());
  RC_ASSERT((model.size() > 4 || found == model.size()));  // a set has four places
}

TEST(NeighbourTable, has_as_many_as_it_was_made_for_whoever_comes) {
  NeighbourTable table(1024, key);
  for (uint32_t i = 1; i < 100'000; ++i) {
    table.take(host(i)).hear(mac(i), Instant::from_ns(i));
  }
  EXPECT_EQ(table.size(), 1024u);
  EXPECT_EQ(table.known_count(), 1024u);
  // Sets fill evenly, and each keeps the newest: of the last 256 nearly all are there.
  size_t newest = 0;
  for (uint32_t i = 100'000 - 256; i < 100'000; ++i) newest += table.find(host(i)) != nullptr;
  EXPECT_GT(newest, 240u);
}

TEST(NeighbourTable, gives_up_who_never_answered_before_who_has) {
  NeighbourTable table(4, key);
  for (uint32_t i = 1; i <= 3; ++i) table.take(host(i)).hear(mac(i), Instant::from_ns(i));
  table.take(host(4)).try_ask(Instant::from_ns(50));
  table.take(host(5)).try_ask(Instant::from_ns(60));
  EXPECT_EQ(table.find(host(4)), nullptr);
  table.take(host(5)).hear(mac(5), Instant::from_ns(70));
  table.take(host(6));
  EXPECT_EQ(table.find(host(1)), nullptr);  // heard longest ago
  EXPECT_NE(table.find(host(2)), nullptr);
}

// ---- packets of both families

/// An IP packet of a protocol, whose content begins at header_bytes.
Bytes ip_packet(bool is_v6, uint8_t protocol, const Bytes& content) {
  Bytes packet(is_v6 ? v6::bytes : v4::bytes);
  if (is_v6) {
    packet[0] = 0x60;
    store16(&packet[v6::payload_length], content.size());
    packet[v6::next_header] = protocol;
    packet[v6::next_header + 1] = 5;
    for (size_t i = 0; i < 32; ++i) packet[v6::addresses + i] = static_cast<uint8_t>(0x20 + i);
  } else {
    packet[0] = 0x45;
    store16(&packet[v4::total_length], v4::bytes + content.size());
    packet[v4::ttl] = 5;
    packet[v4::protocol] = protocol;
    for (size_t i = 0; i < 8; ++i) packet[v4::addresses + i] = static_cast<uint8_t>(10 + i);
    store16(&packet[v4::checksum], static_cast<uint16_t>(~sum_of(packet)));
  }
  packet.insert(packet.end(), content.begin(), content.end());
  return packet;
}
size_t header_bytes_of(bool is_v6) { return is_v6 ? v6::bytes : v4::bytes; }

std::span<const uint8_t> content_of(const Bytes& packet, bool is_v6) {
  return std::span(packet).subspan(header_bytes_of(is_v6));
}
uint16_t pseudo_of(const Bytes& packet, bool is_v6, uint8_t protocol) {
  const auto all = std::span<const uint8_t>(packet);
  const auto addresses = is_v6 ? all.subspan(v6::addresses, v6::addresses_bytes)
                               : all.subspan(v4::addresses, v4::addresses_bytes);
  return pseudo_header_sum(addresses, protocol, content_of(packet, is_v6).size());
}

// ---- pings

Bytes ping(bool is_v6, const Bytes& payload) {
  Bytes icmp = {static_cast<uint8_t>(is_v6 ? 128 : 8), 0, 0, 0, 0x12, 0x34, 0, 7};
  icmp.insert(icmp.end(), payload.begin(), payload.end());
  Bytes packet = ip_packet(is_v6, is_v6 ? 58 : 1, icmp);
  const uint16_t pseudo = is_v6 ? pseudo_of(packet, true, 58) : 0;
  const uint16_t sum = add_sums(sum_of(content_of(packet, is_v6)), pseudo);
  store16(&packet[header_bytes_of(is_v6) + 2], static_cast<uint16_t>(~sum));
  return packet;
}

RC_GTEST_PROP(Echo, of_a_ping_is_its_answer_with_right_checksums,
              (bool is_v6, const Bytes& payload)) {
  const Bytes request = ping(is_v6, payload);
  Bytes answer = request;
  RC_ASSERT(try_answer_echo(answer));
  const auto asked = *lan_frame::ends_of(request), answered = *lan_frame::ends_of(answer);
  RC_ASSERT((answered.source == asked.target && answered.target == asked.source));
  const auto icmp = content_of(answer, is_v6);
  RC_ASSERT(icmp[0] == (is_v6 ? 129 : 0));
  RC_ASSERT(std::equal(icmp.begin() + 4, icmp.end(), content_of(request, is_v6).begin() + 4));
  RC_ASSERT(add_sums(sum_of(icmp), is_v6 ? pseudo_of(answer, true, 58) : 0) == 0xffff);
  RC_ASSERT((is_v6 || sum_of(std::span(answer).first(v4::bytes)) == 0xffff));
  RC_ASSERT(answer[is_v6 ? v6::next_header + 1 : v4::ttl] == 64);
}

TEST(Echo, answers_nothing_but_whole_requests) {
  const auto is_left_alone = [](Bytes packet) {
    const Bytes before = packet;
    return !try_answer_echo(packet) && packet == before;
  };
  for (const bool is_v6 : {false, true}) {
    Bytes answer = ping(is_v6, {1, 2, 3});
    ASSERT_TRUE(try_answer_echo(answer));
    EXPECT_TRUE(is_left_alone(answer)) << "two of us would never end";
    Bytes coded = ping(is_v6, {1, 2, 3});
    coded[header_bytes_of(is_v6) + 1] = 1;
    EXPECT_TRUE(is_left_alone(coded));
    EXPECT_TRUE(is_left_alone(ip_packet(is_v6, protocol_udp, Bytes(16))));
    Bytes cut = ping(is_v6, {});
    cut.pop_back();
    EXPECT_TRUE(is_left_alone(cut));
  }
  Bytes fragment = ping(false, {1, 2, 3});
  fragment[v4::fragment] = 0x20;
  EXPECT_TRUE(is_left_alone(fragment));
  Bytes with_options = ping(false, {1, 2, 3, 4});
  with_options[0] = 0x46;
  EXPECT_TRUE(is_left_alone(with_options));
  EXPECT_TRUE(is_left_alone({}));
}

// ---- open checksums

struct Segment {
  bool is_v6;
  uint8_t protocol;
  Bytes content;
  size_t field() const {
    return header_bytes_of(is_v6) + (protocol == protocol_udp ? udp::checksum : tcp::checksum);
  }
};

Segment any_segment() {
  Segment it{*rc::gen::arbitrary<bool>(), *rc::gen::element(protocol_udp, protocol_tcp), {}};
  const size_t least = it.protocol == protocol_udp ? udp::bytes : tcp::bytes;
  it.content = *rc::gen::container<Bytes>(*rc::gen::inRange(least, least + 100),
                                          rc::gen::arbitrary<uint8_t>());
  return it;
}

/// As the sender's kernel makes it, checksum and all.
Bytes finished(const Segment& it) {
  Bytes packet = ip_packet(it.is_v6, it.protocol, it.content);
  store16(&packet[it.field()], 0);
  const uint16_t pseudo = pseudo_of(packet, it.is_v6, it.protocol);
  const auto sum = static_cast<uint16_t>(~add_sums(sum_of(content_of(packet, it.is_v6)), pseudo));
  store16(&packet[it.field()], sum == 0 && it.protocol == protocol_udp ? 0xffff : sum);
  return packet;
}

RC_GTEST_PROP(OpenChecksum, is_finished_as_its_sender_would_have, ()) {
  const Segment it = any_segment();
  const Bytes right = finished(it);
  Bytes open = right;
  store16(&open[it.field()], pseudo_of(open, it.is_v6, it.protocol));
  RC_PRE(open != right);
  RC_ASSERT(finish_open_checksum(open));
  RC_ASSERT(open == right);
  RC_ASSERT(!finish_open_checksum(open));  // once
  RC_ASSERT(open == right);
}

RC_GTEST_PROP(OpenChecksum, that_is_merely_wrong_stays_wrong, (uint16_t noise)) {
  const Segment it = any_segment();
  Bytes packet = finished(it);
  RC_PRE(noise != pseudo_of(packet, it.is_v6, it.protocol));
  store16(&packet[it.field()], noise);
  const Bytes before = packet;
  RC_ASSERT(!finish_open_checksum(packet));
  RC_ASSERT(packet == before);
}

RC_GTEST_PROP(OpenChecksum, is_looked_for_within_the_bytes_there_are, (Bytes noise)) {
  if (!noise.empty()) noise[0] = *rc::gen::element<uint8_t>(0x45, 0x4f, 0x60, 0x40, noise[0]);
  noise.shrink_to_fit();
  Bytes copy = noise;
  finish_open_checksum(copy);
  copy = noise;
  try_answer_echo(copy);
  (void)lan_frame::ends_of(noise);
}

TEST(OpenChecksum, of_a_fragment_is_not_known) {
  const Segment it{false, protocol_udp, Bytes(40, 7)};
  Bytes packet = finished(it);
  store16(&packet[it.field()], pseudo_of(packet, false, protocol_udp));
  packet[v4::fragment] = 0x20;
  EXPECT_FALSE(finish_open_checksum(packet));
}

}  // namespace

}  // namespace cw::test
