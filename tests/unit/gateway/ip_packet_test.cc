// IP packets that are read, and those that are answered.
#include <gtest/gtest.h>

#include "dataplane/gateway/ingress/icmp.h"
#include "dataplane/gateway/ingress/ip_packet.h"
#include "dataplane/wire/roce.h"
#include "tests/property/property.h"
#include "tests/unit/gateway/packets.h"

namespace cw::gateway::test {
namespace {

// ---- ip packet ----

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
using namespace literals;

// ---- icmp ----

constexpr Instant start = Instant::from_ns(5'000'000'000);

/// What is told about `packet`; empty: nothing.
ByteVector told(const ByteVector& packet, IcmpError error = IcmpError::TooBig,
                uint32_t mtu = 1400) {
  IcmpErrors errors({});
  ByteVector out(icmp_bytes_max, 0xcc);
  out.resize(errors.write(error, packet, mtu, out, start));
  return out;
}
bool is_told(const Shape& shape) { return !told(make_packet(shape)).empty(); }

TEST(Icmp, of_v4_says_which_size_would_fit) {
  const ByteVector packet = make_packet({.dscp = 9, .payload = ports(7, 8, 1480), .padding = 4});
  const ByteVector out = told(packet);
  const auto parsed = parse_ip_packet(out);
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(out.size(), 576u);
  EXPECT_EQ(parsed->kind, PacketKind::Icmp);
  EXPECT_EQ(parsed->source, v4(10, 2, 0, 1));
  EXPECT_EQ(parsed->target, v4(10, 1, 0, 1));
  const auto icmp_part = std::span(out).subspan(20);
  EXPECT_EQ(plain_sum(icmp_part), 0xffff);
  EXPECT_EQ(ByteVector(icmp_part.begin(), icmp_part.begin() + 2), (ByteVector{3, 4}));
  EXPECT_EQ(ByteVector(icmp_part.begin() + 4, icmp_part.begin() + 8),
            (ByteVector{0, 0, 1400 >> 8, 1400 & 0xff}));
  EXPECT_TRUE(std::equal(icmp_part.begin() + 8, icmp_part.end(), packet.begin()));
}

TEST(Icmp, of_v6_says_which_size_would_fit) {
  const Address source = v6({0xfd00, 1}, 1), target = v6({0xfd00, 2}, 2);
  const ByteVector packet = make_packet(
      {.is_v6 = true, .source = source, .target = target, .payload = ports(7, 8, 1460)});
  const ByteVector out = told(packet);
  const auto parsed = parse_ip_packet(out);
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(out.size(), 1280u);
  EXPECT_EQ(parsed->kind, PacketKind::Icmp);
  EXPECT_EQ(parsed->source, target);
  EXPECT_EQ(parsed->target, source);
  const auto icmp_part = std::span(out).subspan(40);
  const auto pseudo = plain_sum(std::span(out).subspan(8, 32), 58 + 1240);
  EXPECT_EQ(plain_sum(icmp_part, pseudo), 0xffff);
  EXPECT_EQ(ByteVector(icmp_part.begin(), icmp_part.begin() + 2), (ByteVector{2, 0}));
  EXPECT_EQ(ByteVector(icmp_part.begin() + 4, icmp_part.begin() + 8),
            (ByteVector{0, 0, 1400 >> 8, 1400 & 0xff}));
  EXPECT_TRUE(std::equal(icmp_part.begin() + 8, icmp_part.end(), packet.begin()));
  const ByteVector small = told(packet, IcmpError::TooBig, 576);
  EXPECT_EQ(ByteVector(small.begin() + 44, small.begin() + 48), (ByteVector{0, 0, 5, 0}))
      << "no IPv6 link has less than 1280";
}

TEST(Icmp, other_errors_have_their_own_codes_and_no_size) {
  struct Row {
    IcmpError error;
    ByteVector v4, v6;
  };
  for (const auto& [error, of_v4, of_v6] :
       {Row{IcmpError::NoRoute, {3, 0}, {1, 0}}, Row{IcmpError::HopLimit, {11, 0}, {3, 0}}}) {
    const ByteVector out4 = told(make_packet({}), error);
    EXPECT_EQ(ByteVector(out4.begin() + 20, out4.begin() + 22), of_v4);
    EXPECT_EQ(ByteVector(out4.begin() + 24, out4.begin() + 28), ByteVector(4));
    const ByteVector out6 = told(
        make_packet({.is_v6 = true, .source = v6({0xfd00}, 1), .target = v6({0xfd00}, 2)}), error);
    EXPECT_EQ(ByteVector(out6.begin() + 40, out6.begin() + 42), of_v6);
    EXPECT_EQ(ByteVector(out6.begin() + 44, out6.begin() + 48), ByteVector(4));
  }
}

TEST(Icmp, nobody_is_told_of_an_icmp_error) {
  const auto with_type = [](uint8_t type) {
    ByteVector payload(20);
    payload[0] = type;
    return payload;
  };
  const Address a = v6({0xfd00}, 1), b = v6({0xfd00}, 2);
  for (const uint8_t type : {3, 4, 5, 11, 12, 200}) {
    EXPECT_FALSE(is_told({.protocol = icmp, .payload = with_type(type)})) << int{type};
  }
  for (const uint8_t type : {1, 2, 3, 4, 127, 137}) {
    EXPECT_FALSE(is_told(
        {.is_v6 = true, .source = a, .target = b, .protocol = icmpv6, .payload = with_type(type)}))
        << int{type};
  }
  EXPECT_TRUE(is_told({.protocol = icmp, .payload = with_type(8)}));
  EXPECT_TRUE(is_told(
      {.is_v6 = true, .source = a, .target = b, .protocol = icmpv6, .payload = with_type(128)}));
  EXPECT_FALSE(is_told({.protocol = icmp, .payload = {}})) << "it may have been one";
}

TEST(Icmp, nobody_is_told_of_later_fragments) {
  EXPECT_TRUE(is_told({.more_fragments = true}));
  EXPECT_FALSE(is_told({.fragment_offset = 1}));
  const Address a = v6({0xfd00}, 1), b = v6({0xfd00}, 2);
  Shape shape{.is_v6 = true, .source = a, .target = b, .extensions = {44}, .more_fragments = true};
  EXPECT_TRUE(is_told(shape));
  shape.protocol = 60;
  EXPECT_FALSE(is_told(shape)) << "an ICMP error may hide behind it";
}

TEST(Icmp, only_single_hosts_are_told_and_only_of_what_was_for_one) {
  for (const Address& source : {v4(0, 0, 0, 0), v4(127, 0, 0, 1), v4(224, 0, 0, 1),
                                v4(255, 255, 255, 255), v4(240, 0, 0, 1)}) {
    EXPECT_FALSE(is_told({.source = source})) << int{source[0]};
  }
  EXPECT_FALSE(is_told({.target = v4(239, 1, 1, 1)}));
  EXPECT_FALSE(is_told({.target = v4(255, 255, 255, 255)}));
  const Address host = v6({0xfd00}, 1);
  for (const Address& source : {v6({}), v6({}, 1), v6({0xff02}, 1)}) {
    EXPECT_FALSE(is_told({.is_v6 = true, .source = source, .target = host})) << int{source[0]};
  }
  EXPECT_FALSE(is_told({.is_v6 = true, .source = host, .target = v6({0xff0e}, 1)}));
}

TEST(Icmp, quotes_no_more_than_there_is_room_for) {
  for (const bool is_v6 : {false, true}) {
    Shape shape{.is_v6 = is_v6, .payload = ByteVector(1400)};
    if (is_v6) shape.source = v6({0xfd00}, 1), shape.target = v6({0xfd00}, 2);
    const ByteVector packet = make_packet(shape);
    for (const size_t room : {127, 128, 300}) {
      IcmpErrors errors({});
      ByteVector out(room);
      const size_t bytes = errors.write(IcmpError::TooBig, packet, 1280, out, start);
      EXPECT_EQ(bytes, room < 128 ? 0 : room);
      EXPECT_EQ(parse_ip_packet(out).has_value(), bytes > 0);
    }
  }
}

TEST(Icmp, comes_at_a_bounded_rate_after_a_bounded_burst) {
  IcmpErrors errors({.per_second = 100, .burst = 3});
  ByteVector out(icmp_bytes_max);
  const ByteVector packet = make_packet({});
  const auto count_at = [&](Instant now) {
    int count = 0;
    while (errors.write(IcmpError::TooBig, packet, 1400, out, now) > 0) ++count;
    return count;
  };
  EXPECT_EQ(count_at(Instant()), 3);
  EXPECT_EQ(count_at(Instant() + 9_ms), 0);
  EXPECT_EQ(count_at(Instant() + 10_ms), 1);
  EXPECT_EQ(count_at(Instant() + 45_ms), 3);
  EXPECT_EQ(count_at(Instant() + 10_s), 3);
  EXPECT_EQ(errors.write(IcmpError::TooBig, make_packet({.fragment_offset = 1}), 1400, out,
                         Instant() + 20_s),
            0u);
  EXPECT_EQ(count_at(Instant() + 20_s), 3) << "what is not told costs nothing";
}

RC_GTEST_PROP(Icmp, about_any_packet_is_a_sound_packet_or_none, (uint64_t seed)) {
  Prng prng(seed);
  IcmpErrors errors({});
  Shape shape = any_shape(prng, 3000);
  shape.source[0] = shape.target[0] = 10;
  ByteVector packet = make_packet(shape);
  ByteVector out(icmp_bytes_max);
  const auto error = static_cast<IcmpError>(prng.below(3));
  const size_t bytes = errors.write(error, packet, 1280, out, start);
  if (bytes == 0) return;
  const auto parsed = parse_ip_packet(std::span(out).first(bytes));
  RC_ASSERT(parsed.has_value());
  RC_ASSERT(parsed->bytes == bytes);
  RC_ASSERT(bytes <= (shape.is_v6 ? 1280u : 576u));
  RC_ASSERT(parsed->kind == PacketKind::Icmp);
  RC_ASSERT(parsed->target == parse_ip_packet(packet)->source);
}

}  // namespace

}  // namespace cw::gateway::test
