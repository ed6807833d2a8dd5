// What is said of multicast groups on an Ethernet: to whom, when, and how often at most.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "dataplane/neighbour/membership/membership.h"
#include "dataplane/wire/outer/checksum.h"
#include "dataplane/wire/outer/ip_layout.h"
#include "tests/property/property.h"

namespace cw::test {
namespace {
using namespace literals;
using Frame = std::vector<uint8_t>;

constexpr MacAddress own_mac = {2, 0, 0, 0, 0, 1};

HostAddress host(const char* text) { return *parse_host_address(text, "test"); }

const HostAddress a = host("239.1.2.3"), b = host("239.129.2.4"), c = host("ff05::1:2");
const NeighbourSelf self_v4 = {host("10.1.0.1"), own_mac}, self_v6 = {host("2001:db8::1"), own_mac};

Frame report(std::vector<GroupRecord> records) {
  Frame frame(group_message_bytes_max);
  frame.resize(encode_group_report(self_v4, records, frame));
  return frame;
}
Frame older_report(const GroupRecord& record) {
  Frame frame(group_message_bytes_max);
  frame.resize(encode_older_group_report(self_v4, record, frame));
  return frame;
}

// ---- frames ----

TEST(GroupMessage, groups_have_the_macs_of_rfc_1112_and_2464) {
  EXPECT_EQ(mac_of_group(a), (MacAddress{0x01, 0x00, 0x5e, 1, 2, 3}));
  EXPECT_EQ(mac_of_group(b), (MacAddress{0x01, 0x00, 0x5e, 1, 2, 4})) << "of 129 seven bits";
  EXPECT_EQ(mac_of_group(c), (MacAddress{0x33, 0x33, 0, 1, 0, 2}));
}

TEST(GroupMessage, igmp_v3_report_is_that_of_rfc_3376) {
  Frame expected = {0x01, 0x00, 0x5e, 0,  0,   22,  2, 0,  0, 0, 0, 1, 8, 0,  // Ethernet
                    0x46, 0xc0, 0,    48, 0,   0,   0, 0,  1, 2, 0, 0,        // IP, its checksum
                    10,   1,    0,    1,  224, 0,   0, 22,                    // addresses
                    0x94, 4,    0,    0,                                      // router alert
                    0x22, 0,    0,    0,  0,   0,   0, 2,                     // a report of two
                    4,    0,    0,    0,  239, 1,   2, 3,                     // joins
                    2,    0,    0,    0,  239, 129, 2, 4};                    // is a member
  ip_layout::store16(&expected[24],
                     static_cast<uint16_t>(~sum_of(std::span(expected).subspan(14, 24))));
  ip_layout::store16(&expected[40],
                     static_cast<uint16_t>(~sum_of(std::span(expected).subspan(38))));
  EXPECT_EQ(report({{GroupWord::Joins, a}, {GroupWord::IsMember, b}}), expected);
}

TEST(GroupMessage, igmp_v2_speaks_to_the_group_and_leaves_to_the_routers) {
  const Frame in = older_report({GroupWord::Joins, a}), out = older_report({GroupWord::Leaves, a});
  ASSERT_EQ(in.size(), 60u) << "padded";
  EXPECT_TRUE(std::equal(in.begin(), in.begin() + 6, mac_of_group(a).begin()));
  EXPECT_EQ(in[38], 0x16);
  EXPECT_EQ(out[38], 0x17);
  EXPECT_TRUE(std::equal(out.begin(), out.begin() + 6, mac_of_group(host("224.0.0.2")).begin()));
  EXPECT_TRUE(std::equal(&out[42], &out[46], a.ip.begin()));
}

/// A query as a router sends it.
Frame query(const HostAddress& group, size_t message_bytes, uint16_t code, bool is_v4) {
  using namespace ip_layout;
  const size_t ip_bytes = is_v4 ? 24 : 48;
  Frame frame(14 + ip_bytes + message_bytes);
  store16(&frame[12], is_v4 ? 0x0800 : 0x86dd);
  uint8_t* const ip = &frame[14];
  const std::span<uint8_t> message(ip + ip_bytes, message_bytes);
  if (is_v4) {
    ip[0] = 0x46;
    store16(&ip[v4::total_length], ip_bytes + message_bytes);
    ip[v4::ttl] = 1;
    ip[v4::protocol] = 2;
    std::ranges::copy(std::array<uint8_t, 8>{10, 1, 0, 254, 224, 0, 0, 1}, &ip[v4::addresses]);
    store16(&ip[v4::checksum], static_cast<uint16_t>(~sum_of({ip, ip_bytes})));
    message[0] = 0x11;
    message[1] = static_cast<uint8_t>(code);
    std::copy_n(group.ip.begin(), 4, &message[4]);
    store16(&message[2], static_cast<uint16_t>(~sum_of(message)));
    return frame;
  }
  ip[0] = 0x60;
  store16(&ip[v6::payload_length], 8 + message_bytes);
  ip[7] = 1;
  std::ranges::copy(host("fe80::2").ip, &ip[8]);
  std::ranges::copy(host("ff02::1").ip, &ip[24]);
  std::ranges::copy(std::array<uint8_t, 8>{58, 0, 5, 2, 0, 0, 1, 0}, &ip[40]);
  message[0] = 130;
  store16(&message[4], code);
  std::ranges::copy(group.ip, &message[8]);
  const uint16_t pseudo = pseudo_header_sum({&ip[8], 32}, 58, message_bytes);
  store16(&message[2], static_cast<uint16_t>(~add_sums(sum_of(message), pseudo)));
  return frame;
}

TEST(GroupMessage, queries_of_all_versions_are_understood) {
  struct Row {
    HostAddress group;
    size_t bytes;
    uint16_t code;
    bool is_v4;
    Duration within;
    bool is_newest;
  };
  const HostAddress all_v4 = host("0.0.0.0"), all_v6 = host("::");
  for (const Row& row : {Row{all_v4, 12, 100, true, 10_s, true},
                         {a, 12, 10, true, 1_s, true},
                         {all_v4, 12, 0x8f, true, Duration::from_ms(100 * (0x1f << 3)), true},
                         {all_v4, 8, 100, true, 10_s, false},
                         {all_v4, 8, 0, true, 10_s, false},
                         {all_v6, 28, 10'000, false, 10_s, true},
                         {c, 28, 1000, false, 1_s, true},
                         {all_v6, 28, 0x8001, false, Duration::from_ms(0x1001 << 3), true},
                         {all_v6, 24, 10'000, false, 10_s, false}}) {
    const auto parsed = parse_group_query(query(row.group, row.bytes, row.code, row.is_v4));
    ASSERT_TRUE(parsed.has_value()) << row.bytes << " " << row.code;
    EXPECT_EQ(parsed->group, row.group);
    EXPECT_EQ(parsed->within, row.within) << row.code;
    EXPECT_EQ(parsed->is_newest, row.is_newest);
  }
}

TEST(GroupMessage, what_is_cut_short_spoilt_or_from_afar_is_no_query) {
  for (const bool is_v4 : {true, false}) {
    const Frame good = query(is_v4 ? a : c, is_v4 ? 12 : 28, 10, is_v4);
    ASSERT_TRUE(parse_group_query(good).has_value());
    for (size_t bytes = 0; bytes < good.size(); ++bytes) {
      EXPECT_FALSE(parse_group_query(std::span(good).first(bytes)).has_value()) << bytes;
    }
    for (size_t at = 14; at < good.size(); ++at) {
      Frame spoilt = good;
      spoilt[at] ^= 0x10;
      // A checksum of IPv6 does not cover what a router may change or need not read.
      const bool is_free = !is_v4 && (at == 14 || (at > 14 && at < 18) || (at > 55 && at < 62));
      EXPECT_TRUE(is_free || !parse_group_query(spoilt)) << at;
    }
  }
  EXPECT_FALSE(parse_group_query(query(host("10.1.0.9"), 12, 10, true)).has_value());
  EXPECT_FALSE(parse_group_query(report({{GroupWord::IsMember, a}})).has_value());
}

// ---- when ----

struct Port {
  explicit Port(std::vector<HostAddress> groups = {a, b, c})
      : membership(groups, self_v4, self_v6, 7) {}
  /// Frames of so much time, polled each 5 ms.
  std::vector<Frame> said_within(Duration time) {
    std::vector<Frame> frames;
    for (const Instant end = now + time; now < end; now += 5_ms) {
      Frame frame(group_message_bytes_max);
      frame.resize(membership.next_report(now, frame));
      if (!frame.empty()) frames.push_back(frame);
    }
    return frames;
  }
  void hear(const HostAddress& group, Duration within, bool is_newest = true) {
    membership.hear({.group = group, .within = within, .is_newest = is_newest}, now);
  }
  std::vector<Frame> leave() {
    std::vector<Frame> frames;
    for (Frame frame(group_message_bytes_max);; frame.resize(group_message_bytes_max)) {
      frame.resize(membership.next_leave(now, frame));
      if (frame.empty()) return frames;
      frames.push_back(frame);
    }
  }
  Instant now = Instant() + 1_s;
  Membership membership;
};

uint8_t kind_of(const Frame& frame) { return frame[13] == 0 ? frame[38] : frame[62]; }
uint8_t word_of(const Frame& frame) { return frame[13] == 0 ? frame[46] : frame[70]; }

TEST(Membership, says_at_the_start_twice_what_it_has_joined) {
  Port port;
  EXPECT_TRUE(port.said_within(2_s).empty());
  port.membership.begin(port.now);
  const auto first = port.said_within(100_ms);
  ASSERT_EQ(first.size(), 2u) << "IGMP and MLD";
  EXPECT_EQ(first[0].size(), 14u + 24 + 8 + 2 * 8) << "both groups in one";
  EXPECT_EQ(kind_of(first[0]), 0x22);
  EXPECT_EQ(kind_of(first[1]), 143);
  EXPECT_EQ(word_of(first[1]), 4);
  const auto again = port.said_within(2_s);
  EXPECT_GE(again.size(), 2u);
  EXPECT_LE(again.size(), 3u);
  EXPECT_TRUE(port.said_within(60_s).empty());
}

TEST(Membership, answers_a_question_about_all_once_and_in_its_time) {
  Port port;
  port.hear(host("0.0.0.0"), 1_s);
  const auto said = port.said_within(1_s + 5_ms);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].size(), 14u + 24 + 8 + 2 * 8);
  EXPECT_EQ(word_of(said[0]), 2) << "is a member";
  EXPECT_TRUE(port.said_within(30_s).empty());
}

TEST(Membership, answers_a_question_about_its_groups_and_no_others) {
  Port port;
  port.hear(c, 1_s);
  port.hear(host("239.9.9.9"), 1_s);
  const auto said = port.said_within(2_s);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(kind_of(said[0]), 143);
  EXPECT_TRUE(std::equal(c.ip.begin(), c.ip.end(), &said[0][74]));
}

TEST(Membership, speaks_to_an_older_router_as_it_understands) {
  Port port;
  port.hear(host("0.0.0.0"), 1_s, /*is_newest=*/false);
  const auto said = port.said_within(2_s);
  ASSERT_EQ(said.size(), 2u) << "a frame for each group";
  EXPECT_EQ(kind_of(said[0]), 0x16);
  port.hear(host("::"), 1_s);
  EXPECT_EQ(kind_of(port.said_within(2_s).at(0)), 143) << "MLD as before";
  const auto left = port.leave();
  ASSERT_EQ(left.size(), 3u);
  EXPECT_EQ(kind_of(left[0]), 0x17);
  port.now += Membership::older_for;
  port.hear(host("0.0.0.0"), 1_s);
  EXPECT_EQ(kind_of(port.said_within(2_s).at(0)), 0x22) << "the router is a new one";
}

TEST(Membership, says_at_the_end_that_it_leaves) {
  Port port;
  const auto left = port.leave();
  ASSERT_EQ(left.size(), 2u);
  for (const Frame& each : left) EXPECT_EQ(word_of(each), 3);
  EXPECT_TRUE(port.leave().empty());
}

TEST(Membership, is_not_made_to_say_more_than_its_pace_by_any_flood) {
  std::vector<HostAddress> groups;
  for (uint8_t i = 0; i < limits::groups_max; ++i) {
    groups.push_back(a);
    groups.back().ip[3] = i;
  }
  for (const bool is_newest : {true, false}) {
    Port port(groups);
    size_t count = 0;
    for (const Instant end = port.now + 10_s; port.now < end;) {
      port.hear(host("0.0.0.0"), Duration(), is_newest);
      for (const HostAddress& each : groups) port.hear(each, Duration(), is_newest);
      count += port.said_within(5_ms).size();
    }
    EXPECT_EQ(count, static_cast<size_t>(10_s / Membership::pace)) << is_newest;
  }
}

RC_GTEST_PROP(GroupMessage, is_read_from_any_bytes, (Frame frame, bool is_v4)) {
  frame.resize(std::max<size_t>(frame.size(), 14));
  frame[12] = is_v4 ? 8 : 0x86;
  frame[13] = is_v4 ? 0 : 0xdd;
  const Frame exact(frame);
  const auto parsed = parse_group_query(exact);
  if (parsed) RC_ASSERT(parsed->group.is_v4() == is_v4);
}

}  // namespace
}  // namespace cw::test
