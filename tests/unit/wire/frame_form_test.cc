// A form says of frames what parse_frame() says, or declines.
#include "dataplane/wire/frame_form.h"

#include <gtest/gtest.h>

#include "dataplane/wire/checksum.h"
#include "dataplane/wire/ip_layout.h"
#include "tests/property/property.h"
#include "tests/unit/wire/packets.h"

namespace cw::test {
namespace {

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

}  // namespace
}  // namespace cw::test
