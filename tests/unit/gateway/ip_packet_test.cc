#include "dataplane/gateway/ip_packet.h"

#include <gtest/gtest.h>

#include "dataplane/wire/roce.h"
#include "tests/property/property.h"
#include "tests/unit/gateway/packets.h"

namespace cw::gateway::test {
namespace {

IpPacket parsed(const Shape& shape) {
  const ByteVector bytes = make_packet(shape);
  const auto packet = parse_ip_packet(bytes);
  EXPECT_TRUE(packet.has_value());
  return packet.value_or(IpPacket{});
}
bool is_taken(const ByteVector& bytes) { return parse_ip_packet(bytes).has_value(); }

TEST(IpPacket, of_v4_is_read_behind_its_options) {
  const IpPacket packet = parsed({.protocol = tcp,
                                  .dscp = 46,
                                  .ecn = 2,
                                  .ttl = 7,
                                  .payload = ports(1000, 443),
                                  .option_words = 10});
  EXPECT_EQ(packet.source, v4(10, 1, 0, 1));
  EXPECT_EQ(packet.target, v4(10, 2, 0, 1));
  EXPECT_EQ(packet.kind, PacketKind::Tcp);
  EXPECT_EQ(packet.dscp, 46);
  EXPECT_EQ(packet.ecn, ecn_ect0);
  EXPECT_EQ(packet.ttl, 7);
  EXPECT_EQ(packet.header_bytes, 60);
  EXPECT_EQ(packet.bytes, 80);
  EXPECT_TRUE(packet.has_ports);
  EXPECT_EQ(packet.source_port, 1000);
  EXPECT_EQ(packet.target_port, 443);
}

TEST(IpPacket, of_v6_is_read_behind_its_extension_headers) {
  const Address source = v6({0xfd00, 1}, 1), target = v6({0xfd00, 2}, 2);
  const IpPacket packet = parsed({.is_v6 = true,
                                  .source = source,
                                  .target = target,
                                  .protocol = udp,
                                  .dscp = 10,
                                  .ecn = 3,
                                  .payload = ports(5, 53),
                                  .extensions = {0, 60, 43, 51, 60}});
  EXPECT_EQ(packet.source, source);
  EXPECT_EQ(packet.target, target);
  EXPECT_EQ(packet.protocol, udp);
  EXPECT_EQ(packet.dscp, 10);
  EXPECT_EQ(packet.ecn, ecn_ce);
  EXPECT_EQ(packet.header_bytes, 40 + 5 * 16);
  EXPECT_EQ(packet.target_port, 53);
}

TEST(IpPacket, padding_of_the_link_does_not_belong_to_it) {
  EXPECT_EQ(parsed({.padding = 6}).bytes, 40);
  EXPECT_EQ(parsed({.is_v6 = true, .padding = 6}).bytes, 60);
}

TEST(IpPacket, that_contradicts_itself_is_refused) {
  const ByteVector good = make_packet({});
  EXPECT_TRUE(is_taken(good));
  EXPECT_FALSE(is_taken({}));
  for (size_t bytes = 1; bytes < good.size(); ++bytes) {
    EXPECT_FALSE(is_taken(ByteVector(good.begin(), good.begin() + static_cast<long>(bytes))));
  }
  const auto with = [&good](size_t at, uint8_t value, uint8_t sum_step) {
    ByteVector bytes = good;
    bytes[at] = value;
    bytes[10 + at % 2] = static_cast<uint8_t>(bytes[10 + at % 2] - sum_step);
    return bytes;
  };
  EXPECT_TRUE(is_taken(with(8, 65, 1))) << "the checksum fits the new time to live";
  EXPECT_FALSE(is_taken(with(8, 65, 0))) << "the checksum does not";
  EXPECT_FALSE(is_taken(with(0, 0x44, 0xff))) << "a header of 16 bytes";
  EXPECT_FALSE(is_taken(with(0, 0x55, 0x10))) << "version 5";
  EXPECT_FALSE(is_taken(with(3, 19, static_cast<uint8_t>(19 - 40)))) << "19 bytes in all";
  EXPECT_FALSE(is_taken(ByteVector(9217, 0x60)));
}

TEST(IpPacket, of_v6_whose_extensions_leave_it_is_refused) {
  ByteVector bytes = make_packet({.is_v6 = true, .payload = {}, .extensions = {60}});
  EXPECT_TRUE(is_taken(bytes));
  bytes[41] = 2;
  EXPECT_FALSE(is_taken(bytes)) << "an extension of 24 bytes in 16";
  bytes = make_packet({.is_v6 = true, .protocol = 60, .payload = ByteVector(7)});
  EXPECT_FALSE(is_taken(bytes)) << "an extension header cut short";
  Shape shape{.is_v6 = true, .extensions = {60, 60, 60, 60, 60, 60, 60, 60}};
  EXPECT_TRUE(is_taken(make_packet(shape)));
  shape.extensions.push_back(60);
  EXPECT_FALSE(is_taken(make_packet(shape))) << "nine extension headers";
}

TEST(IpPacket, a_fragment_has_no_ports_whichever_piece_it_is) {
  for (const bool is_v6 : {false, true}) {
    Shape shape{.is_v6 = is_v6, .payload = ports(1, 2), .more_fragments = true};
    if (is_v6) shape.extensions = {44};
    const IpPacket first = parsed(shape);
    EXPECT_TRUE(first.is_fragment);
    EXPECT_FALSE(first.is_later_fragment);
    EXPECT_FALSE(first.has_ports);
    EXPECT_EQ(first.kind, PacketKind::Udp);
    shape.fragment_offset = 3;
    shape.more_fragments = false;
    const IpPacket last = parsed(shape);
    EXPECT_TRUE(last.is_fragment);
    EXPECT_TRUE(last.is_later_fragment);
    EXPECT_FALSE(last.has_ports);
  }
  EXPECT_TRUE(parsed({.is_v6 = true, .payload = ports(1, 2), .extensions = {44}}).has_ports)
      << "the only piece of a packet is no fragment";
}

TEST(IpPacket, what_stands_behind_a_later_fragments_header_is_not_read_as_headers) {
  const IpPacket packet = parsed({.is_v6 = true,
                                  .protocol = 60,
                                  .payload = ByteVector(3, 0xff),
                                  .extensions = {44},
                                  .fragment_offset = 9});
  EXPECT_EQ(packet.protocol, 60);
}

TEST(IpPacket, a_transport_header_cut_short_is_no_reason_to_refuse) {
  EXPECT_FALSE(parsed({.protocol = tcp, .payload = ports(1, 2, 19)}).has_ports);
  EXPECT_FALSE(parsed({.protocol = udp, .payload = ports(1, 2, 7)}).has_ports);
  EXPECT_TRUE(parsed({.protocol = udp, .payload = ports(1, 2, 8)}).has_ports);
  EXPECT_EQ(parsed({.protocol = udp, .payload = {}}).kind, PacketKind::Udp);
  ByteVector cut = roce(0x04, 5);
  cut.resize(8 + 11);
  EXPECT_FALSE(parsed({.payload = cut}).is_roce);
  EXPECT_EQ(parsed({.payload = cut}).kind, PacketKind::Udp);
}

TEST(IpPacket, of_roce_has_a_queue_pair_and_a_half) {
  struct Row {
    uint8_t opcode;
    PacketKind kind;
    bool is_response, is_acknowledgement;
  };
  const Row rows[] = {
      {0x04, PacketKind::RoceRc, false, false},  // RC SEND only
      {0x0c, PacketKind::RoceRc, false, false},  // RC READ request
      {0x10, PacketKind::RoceRc, true, false},   // RC READ response only
      {0x11, PacketKind::RoceRc, true, true},    // RC acknowledge
      {0x12, PacketKind::RoceRc, true, false},   // RC ATOMIC acknowledge
      {0x2a, PacketKind::RoceRc, false, false},  // UC WRITE only
      {0xb1, PacketKind::RoceRc, true, true},    // XRC acknowledge
      {0x64, PacketKind::RoceUd, false, false},  // UD SEND only
      {0x81, PacketKind::RoceUd, false, false},  // CNP
      {0xff, PacketKind::Other, false, false},   // nobody's
  };
  for (const Row& row : rows) {
    for (const bool is_v6 : {false, true}) {
      const IpPacket packet = parsed({.is_v6 = is_v6, .payload = roce(row.opcode, 0xabcdef)});
      EXPECT_TRUE(packet.is_roce);
      EXPECT_EQ(packet.target_qp, 0xabcdefu);
      EXPECT_EQ(packet.kind, row.kind) << int{row.opcode};
      EXPECT_EQ(packet.is_roce_response(), row.is_response) << int{row.opcode};
      EXPECT_EQ(packet.is_roce_acknowledgement(), row.is_acknowledgement) << int{row.opcode};
    }
  }
  ByteVector other_version = roce(0x04, 5);
  other_version[9] = 1;
  EXPECT_FALSE(parsed({.payload = other_version}).is_roce);
  ByteVector other_port = roce(0x04, 5);
  other_port[3] = 0;
  EXPECT_FALSE(parsed({.payload = other_port}).is_roce);
}

TEST(IpPacket, icmp_is_the_one_of_its_version) {
  EXPECT_EQ(parsed({.protocol = icmp}).kind, PacketKind::Icmp);
  EXPECT_EQ(parsed({.protocol = icmpv6}).kind, PacketKind::Other);
  EXPECT_EQ(parsed({.is_v6 = true, .protocol = icmpv6}).kind, PacketKind::Icmp);
  EXPECT_EQ(parsed({.is_v6 = true, .protocol = icmp}).kind, PacketKind::Other);
}

TEST(IpPacketEdit, the_last_hop_is_not_taken) {
  for (const bool is_v6 : {false, true}) {
    for (const uint8_t ttl : {0, 1}) {
      ByteVector bytes = make_packet({.is_v6 = is_v6, .ttl = ttl});
      const ByteVector before = bytes;
      EXPECT_FALSE(try_decrement_ttl(bytes));
      EXPECT_EQ(bytes, before);
    }
    ByteVector bytes = make_packet({.is_v6 = is_v6, .ttl = 2});
    EXPECT_TRUE(try_decrement_ttl(bytes));
    EXPECT_EQ(bytes, make_packet({.is_v6 = is_v6, .ttl = 1}));
  }
}

TEST(IpPacketEdit, congestion_is_not_marked_for_who_would_not_understand) {
  for (const bool is_v6 : {false, true}) {
    ByteVector bytes = make_packet({.is_v6 = is_v6, .dscp = 63});
    EXPECT_FALSE(try_set_ce(bytes));
    EXPECT_EQ(bytes, make_packet({.is_v6 = is_v6, .dscp = 63}));
    for (const uint8_t ecn : {ecn_ect0, ecn_ect1, ecn_ce}) {
      bytes = make_packet({.is_v6 = is_v6, .ecn = ecn});
      EXPECT_TRUE(try_set_ce(bytes));
      EXPECT_EQ(bytes, make_packet({.is_v6 = is_v6, .ecn = ecn_ce}));
    }
  }
}

// The incremental checksum is that of the packet made anew.
RC_GTEST_PROP(IpPacketEdit, gives_the_packet_that_had_been_made_so, (uint64_t seed)) {
  Prng prng(seed);
  Shape shape = any_shape(prng);
  ByteVector bytes = make_packet(shape);
  for (int step = 0; step < 8; ++step) {
    switch (prng.below(4)) {
      case 0:
        RC_ASSERT(try_decrement_ttl(bytes) == (shape.ttl > 1));
        if (shape.ttl > 1) --shape.ttl;
        break;
      case 1:
        shape.ecn = static_cast<uint8_t>(prng.below(4));
        set_ecn(bytes, shape.ecn);
        break;
      case 2:
        shape.dscp = static_cast<uint8_t>(prng.below(64));
        set_dscp(bytes, shape.dscp);
        break;
      default:
        RC_ASSERT(try_set_ce(bytes) == (shape.ecn != 0));
        if (shape.ecn != 0) shape.ecn = ecn_ce;
    }
    RC_ASSERT(bytes == make_packet(shape));
  }
  RC_ASSERT(is_taken(bytes));
}

RC_GTEST_PROP(IpPacket, is_read_as_it_was_made, (uint64_t seed)) {
  Prng prng(seed);
  const Shape shape = any_shape(prng);
  const ByteVector bytes = make_packet(shape);
  const auto packet = parse_ip_packet(bytes);
  RC_ASSERT(packet.has_value());
  RC_ASSERT(packet->bytes == bytes.size() - shape.padding);
  RC_ASSERT(packet->protocol == shape.protocol);
  RC_ASSERT(packet->header_bytes + shape.payload.size() == packet->bytes);
  RC_ASSERT(packet->ttl == shape.ttl);
  RC_ASSERT(packet->dscp == shape.dscp);
  RC_ASSERT(packet->ecn == shape.ecn);
  const bool has_fragment_header =
      !shape.is_v6 || (!shape.extensions.empty() && shape.extensions.back() == 44);
  const bool is_piece = shape.fragment_offset != 0 || shape.more_fragments;
  RC_ASSERT(packet->is_fragment == (has_fragment_header && is_piece));
}

// Whatever the bytes, nothing outside them is read (the sanitizers look) or claimed.
RC_GTEST_PROP(IpPacket, of_damaged_bytes_stays_inside_them, (uint64_t seed)) {
  Prng prng(seed);
  ByteVector bytes = make_packet(any_shape(prng));
  for (size_t flips = 1 + prng.below(4); flips > 0; --flips) {
    bytes[prng.below(std::min<size_t>(bytes.size(), 80))] ^=
        static_cast<uint8_t>(1u << prng.below(8));
  }
  bytes.resize(prng.below(bytes.size() + 1));
  bytes.shrink_to_fit();
  if (!bytes.empty() && bytes[0] >> 4 == 4 && bytes.size() >= 20) {  // past the checksum
    const size_t header = std::min<size_t>(bytes[0] % 16 * 4, bytes.size());
    bytes[10] = bytes[11] = 0;
    const uint16_t sum = plain_sum(std::span(bytes).first(header));
    bytes[10] = static_cast<uint8_t>(~sum >> 8);
    bytes[11] = static_cast<uint8_t>(~sum);
  }
  const auto packet = parse_ip_packet(bytes);
  if (!packet) return;
  RC_ASSERT(packet->bytes <= bytes.size());
  RC_ASSERT(packet->header_bytes <= packet->bytes);
}

}  // namespace
}  // namespace cw::gateway::test
