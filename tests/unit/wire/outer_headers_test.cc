#include "dataplane/wire/outer_headers.h"

#include <gtest/gtest.h>

#include "tests/property/property.h"
#include "tests/unit/wire/packets.h"

namespace cw::test {
namespace {

FrameAddress any_way() {
  FrameAddress address;
  const auto any_byte = [] { return *rc::gen::arbitrary<uint8_t>(); };
  std::ranges::generate(address.source_mac, any_byte);
  std::ranges::generate(address.target_mac, any_byte);
  address.ip_version = *rc::gen::element(IpVersion::V4, IpVersion::V6);
  const size_t ip_bytes = address.ip_version == IpVersion::V4 ? 4 : 16;
  std::generate_n(address.source_ip.begin(), ip_bytes, any_byte);
  std::generate_n(address.target_ip.begin(), ip_bytes, any_byte);
  address.hop_limit = any_byte();
  address.flow_label = *rc::gen::inRange(0u, 1u << 20);
  address.identification = *rc::gen::arbitrary<uint16_t>();
  address.dont_fragment = *rc::gen::arbitrary<bool>();
  address.source_udp_port = *rc::gen::arbitrary<uint16_t>();
  address.target_udp_port = *rc::gen::arbitrary<uint16_t>();
  return address;
}

/// Whether both ways of writing give the same bytes, and nothing else is written.
bool is_same(const OuterHeaders& headers, const FrameAddress& address, size_t transport_bytes) {
  const size_t bytes = outer_header_bytes(address, FrameStart::Ethernet);
  ByteVector expected(bytes), written(bytes + 2, 0xa5);
  encode_outer_headers(address, FrameStart::Ethernet, transport_bytes, expected);
  headers.write(written.data() + 1, transport_bytes, address.dscp, address.ecn);
  expected.insert(expected.begin(), 0xa5);
  expected.push_back(0xa5);
  return headers.bytes() == bytes && written == expected;
}

// SPEC 2.1, SPEC 2.2, SPEC 2.3, SPEC 2.4
RC_GTEST_PROP(OuterHeaders, are_those_of_the_encoder_for_every_packet, ()) {
  FrameAddress address = any_way();
  const OuterHeaders headers(address);
  for (int packet = 0; packet < 8; ++packet) {
    address.dscp = *rc::gen::arbitrary<uint8_t>();
    address.ecn = *rc::gen::arbitrary<uint8_t>();
    RC_ASSERT(is_same(headers, address, *rc::gen::inRange<size_t>(0, 0xffff - 40 - 8 - 4 + 1)));
  }
}

// A sum of ones' complement has two zeros: the checksum goes through both, and folds twice.
TEST(OuterHeaders, are_those_of_the_encoder_for_every_length) {
  FrameAddress address;
  address.source_ip = {0xff, 0xff, 0xff, 0xff};
  address.target_ip = {0xff, 0xff, 0xff, 0xff};
  const OuterHeaders headers(address);
  for (size_t bytes = 0; bytes <= 0xffff - 20 - 8 - 4; ++bytes) {
    ASSERT_TRUE(is_same(headers, address, bytes)) << bytes;
  }
}

TEST(OuterHeaders, the_part_that_the_icrc_covers_is_that_from_the_ip_header_on) {
  for (const IpVersion version : {IpVersion::V4, IpVersion::V6}) {
    FrameAddress address;
    address.ip_version = version;
    const OuterHeaders headers(address);
    ByteVector written(headers.bytes());
    headers.write(written.data(), 100, 0, 0);
    const auto part = headers.ip_and_udp_of(written.data());
    EXPECT_EQ(part.data(), written.data() + 14);
    EXPECT_EQ(part.data() + part.size(), written.data() + written.size());
  }
}

}  // namespace
}  // namespace cw::test
