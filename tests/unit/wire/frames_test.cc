// Headers around what is carried.
#include <gtest/gtest.h>

#include "dataplane/wire/outer/checksum.h"
#include "dataplane/wire/outer/frame.h"
#include "dataplane/wire/outer/frame_form.h"
#include "dataplane/wire/outer/ip_layout.h"
#include "dataplane/wire/outer/outer_headers.h"
#include "tests/property/property.h"
#include "tests/unit/wire/packets.h"

namespace cw::test {
namespace {

// ---- frame ----

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

// ---- A form says of frames what parse_frame() says, or declines ----

FrameAddress address_of(IpVersion version) {
  FrameAddress address;
  address.ip_version = version;
  const size_t bytes = version == IpVersion::V4 ? 4 : 16;
  for (size_t i = 0; i < bytes; ++i) {
    address.source_ip[i] = static_cast<uint8_t>(10 + i);
    address.target_ip[i] = static_cast<uint8_t>(110 + i);
  }
  return address;
}

/// Everything that frames of one form may differ in.
void vary(FrameAddress& address) {
  const auto any_byte = [] { return *rc::gen::arbitrary<uint8_t>(); };
  std::ranges::generate(address.source_mac, any_byte);
  std::ranges::generate(address.target_mac, any_byte);
  address.dscp = any_byte() & 0x3f;
  address.ecn = any_byte() & 3;
  address.hop_limit = any_byte();
  if (address.ip_version == IpVersion::V4) {
    address.identification = *rc::gen::arbitrary<uint16_t>();
    address.dont_fragment = *rc::gen::arbitrary<bool>();
  } else {
    address.flow_label = *rc::gen::inRange(0u, 1u << 20);
  }
  address.source_udp_port = *rc::gen::arbitrary<uint16_t>();
  address.has_udp_checksum = *rc::gen::arbitrary<bool>();
}

ByteVector frame_of(const FrameAddress& address, std::span<const uint8_t> payload) {
  Transport packet;
  packet.opcode = opcode_ud_send_only;
  packet.payload = payload;
  return make_frame(address, packet);
}

/// What a form accepts, the parser must accept, and say the same of it.
bool is_borne_out(const FrameForm& form, const FrameAddress& same, const FormedFrame& formed,
                  std::span<const uint8_t> bytes) {
  const auto frame = parse_frame(bytes, FrameStart::Ethernet);
  if (!frame) return false;
  const FrameAddress& address = frame->address;
  return address.ip_version == same.ip_version && address.source_ip == same.source_ip &&
         address.target_ip == same.target_ip && address.target_udp_port == same.target_udp_port &&
         !address.vlan && address.source_udp_port == formed.source_udp_port &&
         address.dscp == formed.dscp && address.ecn == formed.ecn &&
         frame->ip_offset == form.ip_offset() &&
         frame->transport_offset == form.transport_offset() &&
         frame->transport_bytes == formed.transport_bytes;
}

const std::vector<IpVersion> versions = {IpVersion::V4, IpVersion::V6};

// SPEC 2.1, SPEC 2.2, SPEC 2.3, SPEC 2.4
RC_GTEST_PROP(FrameForm, reads_every_whole_frame_of_its_own, (const ByteVector& payload)) {
  FrameAddress address = address_of(*rc::gen::elementOf(versions));
  const FrameForm form(address);
  vary(address);
  const ExactCopy copy(frame_of(address, payload));
  FormedFrame formed;
  RC_ASSERT(form.try_read(copy.span(), formed));
  RC_ASSERT((is_borne_out(form, address, formed, copy.span())));
}

TEST(FrameForm, says_what_the_parser_says_whichever_byte_is_another) {
  for (const IpVersion version : versions) {
    const FrameAddress address = address_of(version);
    const FrameForm form(address);
    const ByteVector payload(40, 7);
    ByteVector frame = frame_of(address, payload);
    int accepted = 0, declined = 0;
    for (size_t at = 0; at < form.transport_offset(); ++at) {
      const uint8_t right = frame[at];
      for (unsigned value = 0; value < 256; ++value) {
        frame[at] = static_cast<uint8_t>(value);
        FormedFrame formed;
        const bool is_read = form.try_read(frame, formed);
        ++(is_read ? accepted : declined);
        ASSERT_TRUE(!is_read || is_borne_out(form, address, formed, frame)) << at << ' ' << value;
      }
      frame[at] = right;
    }
    EXPECT_GT(accepted, 0);
    EXPECT_GT(declined, 0);
  }
}

/// Makes the IPv4 checksum right again.
void mend_checksum(ByteVector& frame) {
  using namespace ip_layout;
  uint8_t* const ip = &frame[link_header_bytes({}, FrameStart::Ethernet)];
  store16(ip + v4::checksum, 0);
  store16(ip + v4::checksum, static_cast<uint16_t>(~sum_of({ip, v4::bytes})));
}

// Fragments, options, lengths that do not agree, other protocols, ports and addresses.
RC_GTEST_PROP(FrameForm, believes_nothing_that_the_parser_does_not,
              (const ByteVector& payload, uint8_t changes, uint16_t cut)) {
  FrameAddress address = address_of(*rc::gen::elementOf(versions));
  const FrameForm form(address);
  vary(address);
  ByteVector frame = frame_of(address, payload);
  for (unsigned i = 0; i < changes % 4u; ++i) {
    const auto at = *rc::gen::inRange<size_t>(12, form.transport_offset());
    frame[at] = *rc::gen::arbitrary<uint8_t>();
  }
  if (address.ip_version == IpVersion::V4 && *rc::gen::arbitrary<bool>()) mend_checksum(frame);
  if (*rc::gen::arbitrary<bool>()) frame.resize(cut % (frame.size() + 8));
  const ExactCopy copy(frame);
  FormedFrame formed;
  if (!form.try_read(copy.span(), formed)) return;
  RC_ASSERT((is_borne_out(form, address, formed, copy.span())));
}

TEST(FrameForm, declines_what_has_another_form) {
  for (const IpVersion version : versions) {
    const FrameAddress own = address_of(version);
    const FrameForm form(own);
    const ByteVector payload(40, 7);
    FormedFrame formed;
    ASSERT_TRUE(form.try_read(frame_of(own, payload), formed));
    FrameAddress other = own;
    other.vlan = 7;
    EXPECT_FALSE(form.try_read(frame_of(other, payload), formed));
    other = own;
    other.target_udp_port = 4792;
    EXPECT_FALSE(form.try_read(frame_of(other, payload), formed));
    const size_t ip_bytes = version == IpVersion::V4 ? 4 : 16;
    for (size_t i = 0; i < ip_bytes; ++i) {
      other = own;
      other.source_ip[i] ^= 1;
      EXPECT_FALSE(form.try_read(frame_of(other, payload), formed));
      other = own;
      other.target_ip[i] ^= 1;
      EXPECT_FALSE(form.try_read(frame_of(other, payload), formed));
    }
    other = own;
    other.ip_version = version == IpVersion::V4 ? IpVersion::V6 : IpVersion::V4;
    EXPECT_FALSE(form.try_read(frame_of(other, payload), formed));
  }
}

// ---- outer headers ----

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
