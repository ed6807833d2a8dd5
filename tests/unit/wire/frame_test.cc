#include "dataplane/wire/frame.h"

#include <gtest/gtest.h>

#include "tests/property/property.h"
#include "tests/unit/wire/packets.h"

namespace cw::test {
namespace {

FrameAddress any_address(FrameStart start) {
  FrameAddress address;
  const auto any_byte = [] { return *rc::gen::arbitrary<uint8_t>(); };
  if (start == FrameStart::Ethernet) {
    std::ranges::generate(address.source_mac, any_byte);
    std::ranges::generate(address.target_mac, any_byte);
    if (*rc::gen::arbitrary<bool>()) address.vlan = *rc::gen::arbitrary<uint16_t>();
  }
  const bool is_v4 = *rc::gen::arbitrary<bool>();
  address.ip_version = is_v4 ? IpVersion::V4 : IpVersion::V6;
  std::generate_n(address.source_ip.begin(), is_v4 ? 4 : 16, any_byte);
  std::generate_n(address.target_ip.begin(), is_v4 ? 4 : 16, any_byte);
  address.dscp = any_byte() & 0x3f;
  address.ecn = any_byte() & 3;
  address.hop_limit = any_byte();
  if (is_v4) {
    address.identification = *rc::gen::arbitrary<uint16_t>();
    address.dont_fragment = *rc::gen::arbitrary<bool>();
  } else {
    address.flow_label = *rc::gen::inRange(0u, 1u << 20);
  }
  address.source_udp_port = *rc::gen::arbitrary<uint16_t>();
  address.target_udp_port = *rc::gen::arbitrary<uint16_t>();
  address.has_udp_checksum = *rc::gen::arbitrary<bool>();
  return address;
}

Transport datagram_of(std::span<const uint8_t> payload) {
  Transport packet;
  packet.opcode = opcode_ud_send_only;
  packet.payload = payload;
  return packet;
}

// SPEC 2.1, SPEC 2.2, SPEC 2.3, SPEC 2.4
RC_GTEST_PROP(Frame, address_that_is_encoded_is_decoded_again, (const ByteVector& payload)) {
  const auto start = *rc::gen::element(FrameStart::Ethernet, FrameStart::Ip);
  const FrameAddress address = any_address(start);
  const ExactCopy copy(make_frame(address, datagram_of(payload), start));
  const auto frame = parse_frame(copy.span(), start);
  RC_ASSERT(frame.has_value());
  RC_ASSERT(frame->address == address);
  RC_ASSERT(frame->transport_offset == outer_header_bytes(address, start));
  RC_ASSERT(frame->transport_offset + frame->transport_bytes + icrc_bytes == copy.span().size());
}

/// The sum over pseudo header and UDP packet, one byte pair at a time: all ones when it is right.
uint16_t plain_udp_sum(std::span<const uint8_t> ip_packet) {
  const bool is_v4 = ip_packet[0] >> 4 == 4;
  ByteVector bytes(ip_packet.begin() + (is_v4 ? 12 : 8), ip_packet.end());
  const size_t udp_bytes = ip_packet.size() - (is_v4 ? 20 : 40);
  bytes.insert(bytes.end() - static_cast<ptrdiff_t>(udp_bytes),
               {0, 17, static_cast<uint8_t>(udp_bytes >> 8), static_cast<uint8_t>(udp_bytes)});
  uint32_t sum = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    sum += i % 2 == 0 ? uint32_t{bytes[i]} << 8 : bytes[i];
    sum = (sum & 0xffff) + (sum >> 16);
  }
  return static_cast<uint16_t>(sum);
}

// SPEC 2.4
RC_GTEST_PROP(Frame, udp_checksum_is_the_one_of_rfc_768, (const ByteVector& payload)) {
  FrameAddress address = any_address(FrameStart::Ip);
  address.has_udp_checksum = true;
  const ByteVector whole = make_frame(address, datagram_of(payload), FrameStart::Ip);
  RC_ASSERT(plain_udp_sum(whole) == 0xffff);
}

TEST(Frame, udp_checksum_over_parts_is_that_over_the_whole) {
  for (const IpVersion version : {IpVersion::V4, IpVersion::V6}) {
    FrameAddress address;
    address.ip_version = version;
    address.has_udp_checksum = true;
    const ByteVector payload(77, 0xa5);
    const ByteVector whole = make_frame(address, datagram_of(payload), FrameStart::Ip);
    const size_t headers = outer_header_bytes(address, FrameStart::Ip) + 20;
    ByteVector first(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(headers));
    const std::span<const uint8_t> rest = std::span(whole).subspan(headers);
    for (size_t cut = 0; cut <= rest.size(); cut += 2) {
      write_udp_checksum(first, rest.first(cut), rest.subspan(cut));
      EXPECT_TRUE(std::equal(first.begin(), first.end(), whole.begin())) << "cut at " << cut;
    }
  }
}

TEST(Frame, any_bit_of_an_ipv4_header_that_flips_is_noticed) {
  FrameAddress address;
  const ByteVector payload(8, 1);
  ByteVector frame = make_frame(address, datagram_of(payload), FrameStart::Ip);
  for (size_t bit = 0; bit < 8 * 20; ++bit) {
    frame[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    EXPECT_FALSE(parse_frame(frame, FrameStart::Ip)) << "bit " << bit;
    frame[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
  }
}

TEST(Frame, headers_fit_what_the_limits_promise) {
  FrameAddress address;
  address.vlan = 1;
  address.ip_version = IpVersion::V6;
  EXPECT_EQ(outer_header_bytes(address, FrameStart::Ethernet), outer_headers_bytes_max);
}

}  // namespace
}  // namespace cw::test
