// Who is on the same Ethernet.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "dataplane/neighbour/neighbour.h"
#include "dataplane/neighbour/neighbour_message.h"
#include "dataplane/neighbour/table/wan_neighbours.h"
#include "tests/property/property.h"

namespace cw::test {
namespace {
using namespace literals;
using Frame = std::vector<uint8_t>;

// ---- ARP and ND: golden frames, hostile frames, and when to ask again ----

constexpr MacAddress near_mac = {2, 0, 0, 0, 0, 1}, far_mac = {2, 0, 0, 0, 0, 2};

HostAddress host(const char* text) { return *parse_host_address(text, "test"); }

Frame question(const NeighbourSelf& self, const HostAddress& target) {
  Frame frame(neighbour_message_bytes_max);
  frame.resize(encode_neighbour_question(self, target, frame));
  return frame;
}
Frame answer(const NeighbourSelf& self, const NeighbourMessage& to) {
  Frame frame(neighbour_message_bytes_max);
  frame.resize(encode_neighbour_answer(self, to, frame));
  return frame;
}

TEST(Neighbour, arp_question_is_that_of_rfc_826) {
  Frame expected = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2,   0, 0, 0, 0, 1, 8, 6,  // Ethernet
                    0,    1,    8,    0,    6,    4,    0,   1,                    // request
                    2,    0,    0,    0,    0,    1,    192, 0, 2, 1,              // sender
                    0,    0,    0,    0,    0,    0,    192, 0, 2, 2};             // target
  expected.resize(60);
  EXPECT_EQ(question({host("192.0.2.1"), near_mac}, host("192.0.2.2")), expected);
}

TEST(Neighbour, solicitation_goes_to_the_group_of_its_target_and_has_a_right_checksum) {
  const Frame frame = question({host("fe80::1"), near_mac}, host("fe80::1:2:3"));
  ASSERT_EQ(frame.size(), 86u);
  EXPECT_TRUE(
      std::equal(frame.begin(), frame.begin() + 6, Frame({0x33, 0x33, 0xff, 2, 0, 3}).begin()));
  const auto message = parse_neighbour_message(frame);
  ASSERT_TRUE(message.has_value());
  EXPECT_TRUE(message->is_question);
  EXPECT_EQ(message->sender, host("fe80::1"));
  EXPECT_EQ(message->sender_mac, near_mac);
  EXPECT_EQ(message->target, host("fe80::1:2:3"));
}

TEST(Neighbour, a_question_is_answered_and_the_answer_understood) {
  for (const auto& [near, far] : {std::pair(host("192.0.2.1"), host("192.0.2.2")),
                                  std::pair(host("2001:db8::1"), host("2001:db8::2"))}) {
    const auto asked = parse_neighbour_message(question({near, near_mac}, far));
    ASSERT_TRUE(asked.has_value());
    const auto heard = parse_neighbour_message(answer({far, far_mac}, *asked));
    ASSERT_TRUE(heard.has_value());
    EXPECT_FALSE(heard->is_question);
    EXPECT_EQ(heard->sender, far);
    EXPECT_EQ(heard->sender_mac, far_mac);
  }
}

TEST(Neighbour, no_group_address_is_taken_for_a_machine) {
  Frame frame = question({host("192.0.2.1"), near_mac}, host("192.0.2.2"));
  frame[22] |= 1;  // the sender's MAC
  EXPECT_FALSE(parse_neighbour_message(frame).has_value());
}

TEST(Neighbour, no_group_address_is_taken_for_who_leaves_out_its_own) {
  Frame frame = question({host("fe80::1"), near_mac}, host("fe80::2"));
  constexpr size_t payload_length = 19, checksum = 56, option = 78;
  frame.resize(option);
  frame[payload_length] -= 8;
  // What the option and its share of the length were of the sum: "1, 1" and the MAC, and 8.
  const uint32_t sum = (frame[checksum] << 8 | frame[checksum + 1]) + 0x0101 + 0x0200 + 1 + 8;
  const uint32_t folded = (sum & 0xffff) + (sum >> 16);
  frame[checksum] = static_cast<uint8_t>(folded >> 8);
  frame[checksum + 1] = static_cast<uint8_t>(folded);
  const auto message = parse_neighbour_message(frame);
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(message->sender_mac, near_mac);  // of the Ethernet header
  frame[6] |= 1;
  EXPECT_FALSE(parse_neighbour_message(frame).has_value());
}

TEST(Neighbour, a_solicitation_from_afar_or_with_a_wrong_checksum_is_ignored) {
  const Frame right = question({host("fe80::1"), near_mac}, host("fe80::2"));
  for (const size_t offset : {size_t{21}, size_t{57}, size_t{70}}) {  // hop limit, checksum, target
    Frame wrong = right;
    --wrong[offset];
    EXPECT_FALSE(parse_neighbour_message(wrong).has_value()) << offset;
  }
}

RC_GTEST_PROP(Neighbour, any_bytes_are_read_within_their_bounds, (const Frame& noise)) {
  // Also behind right headers, so that the parsers get further than the first field.
  const char* nears[] = {"192.0.2.1", "fe80::1"};
  const char* fars[] = {"192.0.2.2", "fe80::2"};
  const size_t kind = *rc::gen::inRange<size_t>(0, 2);
  Frame frame = question({host(nears[kind]), near_mac}, host(fars[kind]));
  for (size_t i = 0; i < noise.size() && i < frame.size(); ++i) {
    if (noise[i] % 4 == 0) frame[i] = noise[i];
  }
  frame.resize(*rc::gen::inRange<size_t>(0, frame.size() + 1));
  frame.shrink_to_fit();
  const auto message = parse_neighbour_message(frame);
  RC_ASSERT((!message || (message->sender_mac[0] & 1) == 0));
  parse_neighbour_message(noise);
}

TEST(Neighbour, is_asked_each_second_until_heard_and_again_when_stale) {
  Neighbour it{.ip = host("192.0.2.2")};
  Instant now = Instant::from_ns(5'000'000'000);
  EXPECT_TRUE(it.try_ask(now));
  EXPECT_FALSE(it.try_ask(now + 999_ms));
  EXPECT_TRUE(it.try_ask(now += 1_s));
  it.hear(far_mac, now);
  EXPECT_TRUE(it.is_known);
  EXPECT_FALSE(it.try_ask(now + 29_s));
  EXPECT_TRUE(it.try_ask(now + 30_s));
  EXPECT_TRUE(it.is_known);  // and used meanwhile
  it.doubt();
  EXPECT_TRUE(it.try_ask(now + 30_s));  // at once
  EXPECT_FALSE(it.try_ask(now + 30_s));
  EXPECT_TRUE(it.is_known);
  it.hear(near_mac, now + 31_s);
  EXPECT_FALSE(it.try_ask(now + 32_s));
  EXPECT_EQ(it.mac, near_mac);
}

TEST(Neighbour, one_that_is_configured_is_never_asked_nor_changed_by_others) {
  Neighbour it{.ip = host("192.0.2.2"), .mac = far_mac, .is_known = true, .is_fixed = true};
  EXPECT_FALSE(it.try_ask(Instant::from_ns(1)));
  it.hear(near_mac, Instant::from_ns(2));
  EXPECT_EQ(it.mac, far_mac);
}

TEST(Address, is_read_as_people_write_it) {
  EXPECT_EQ(text_of(host("2001:db8::1")), "2001:db8::1");
  EXPECT_EQ(text_of(host("192.0.2.1")), "192.0.2.1");
  for (const char* wrong : {"", "192.0.2", "gateway", "1::2::3", "192.0.2.1/24"}) {
    EXPECT_FALSE(parse_host_address(wrong, "address").has_value()) << wrong;
  }
  EXPECT_EQ(*parse_mac("02:00:00:00:00:02", "next_hop"), far_mac);
  for (const char* wrong :
       {"03:00:00:00:00:02", "00:00:00:00:00:00", "2:0:0:0:0", "02:00:00:00:00:02x"}) {
    const auto mac = parse_mac(wrong, "next_hop");
    ASSERT_FALSE(mac.has_value()) << wrong;
    EXPECT_TRUE(mac.error().sentence.starts_with("next_hop: ")) << mac.error().sentence;
  }
}

// ---- The next hops of peers: as they are written, shared, heard and asked for ----

constexpr MacAddress router_mac = {2, 0, 0, 0, 0, 9};
const Instant start = Instant() + 100_s;

Neighbour hop(const char* text, const char* peer) { return *parse_next_hop(text, host(peer)); }

NeighbourMessage said_by(const char* sender, bool is_question, const char* target) {
  return {.is_question = is_question,
          .sender = host(sender),
          .sender_mac = router_mac,
          .target = host(target)};
}

TEST(NextHop, is_a_mac_a_router_or_the_peer_itself) {
  const Neighbour fixed = hop("02:00:00:00:00:09", "192.0.2.2");
  EXPECT_TRUE(fixed.is_fixed && fixed.is_known && fixed.mac == router_mac);
  EXPECT_EQ(hop("192.0.2.254", "192.0.2.2").ip, host("192.0.2.254"));
  EXPECT_EQ(hop("", "192.0.2.2").ip, host("192.0.2.2"));
}

TEST(NextHop, is_refused_with_what_is_wrong) {
  for (const char* text : {"01:00:00:00:00:00", "fe80::1", "there"}) {
    const auto refused = parse_next_hop(text, host("192.0.2.2"));
    ASSERT_FALSE(refused) << text;
    EXPECT_TRUE(refused.error().sentence.starts_with("next_hop: ")) << refused.error().sentence;
  }
}

TEST(WanNeighbours, peers_behind_one_router_share_what_is_heard_of_it) {
  WanNeighbours neighbours(host("192.0.2.1"));
  neighbours.add_peer(hop("192.0.2.254", "198.51.100.1"));
  neighbours.add_peer(hop("192.0.2.254", "198.51.100.2"));
  neighbours.add_peer(hop("", "192.0.2.3"));
  EXPECT_EQ(neighbours.unresolved(), (std::vector<std::string>{"192.0.2.254", "192.0.2.3"}));
  EXPECT_FALSE(neighbours.hear(said_by("192.0.2.254", false, "192.0.2.1"), start));
  EXPECT_EQ(neighbours.hop_of(0).mac, router_mac);
  EXPECT_EQ(neighbours.hop_of(1).mac, router_mac);
  EXPECT_FALSE(neighbours.hop_of(2).is_known);
  EXPECT_EQ(neighbours.unresolved(), std::vector<std::string>{"192.0.2.3"});
}

TEST(WanNeighbours, only_questions_for_us_of_somebody_want_an_answer) {
  WanNeighbours neighbours(host("192.0.2.1"));
  neighbours.add_peer(hop("", "192.0.2.2"));
  EXPECT_TRUE(neighbours.hear(said_by("192.0.2.7", true, "192.0.2.1"), start));
  EXPECT_FALSE(neighbours.hear(said_by("192.0.2.7", false, "192.0.2.1"), start));
  EXPECT_FALSE(neighbours.hear(said_by("192.0.2.7", true, "192.0.2.3"), start));
  EXPECT_FALSE(neighbours.hear(said_by("0.0.0.0", true, "192.0.2.1"), start));
  EXPECT_FALSE(neighbours.hear(said_by("fe80::7", true, "fe80::1"), start));
  EXPECT_FALSE(neighbours.hop_of(0).is_known) << "a stranger is not the peer";
}

TEST(WanNeighbours, each_is_asked_once_a_second_until_it_answers_and_in_doubt) {
  WanNeighbours neighbours(host("192.0.2.1"));
  neighbours.add_peer(hop("", "192.0.2.2"));
  neighbours.add_peer(hop("02:00:00:00:00:09", "192.0.2.3"));
  neighbours.add_peer(hop("", "192.0.2.4"));
  const auto asked_at = [&](Instant now) {
    std::vector<std::string> asked;
    while (Neighbour* const it = neighbours.next_to_ask(now)) asked.push_back(text_of(it->ip));
    return asked;
  };
  const std::vector<std::string> both = {"192.0.2.2", "192.0.2.4"};
  EXPECT_EQ(asked_at(start), both);
  EXPECT_TRUE(asked_at(start + 900_ms).empty());
  neighbours.hear(said_by("192.0.2.2", false, "192.0.2.1"), start + 900_ms);
  EXPECT_EQ(asked_at(start + 1_s), std::vector<std::string>{"192.0.2.4"});
  neighbours.doubt_all();
  EXPECT_EQ(asked_at(start + 1_s), both);
}

}  // namespace

}  // namespace cw::test
