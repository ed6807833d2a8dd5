#include "dataplane/gateway/icmp.h"

#include <gtest/gtest.h>

#include "dataplane/gateway/ip_packet.h"
#include "tests/property/property.h"
#include "tests/unit/gateway/packets.h"

namespace cw::gateway::test {
namespace {
using namespace literals;

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
