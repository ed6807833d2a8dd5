// Proof by strangers, reading: frames that two hosts with the kernel's soft-RoCE exchanged, ICRCs
// by the kernel. What is expected here was written down when the capture was made.
#include <gtest/gtest.h>

#include <set>

#include "tests/unit/wire/packets.h"

namespace cw::test {
namespace {

constexpr size_t sizes[] = {0, 1, 2, 3, 4, 5, 63, 64, 1000, 1023, 1024};
constexpr size_t size_count = std::size(sizes);
constexpr size_t family_frames = 3 * size_count;  // per size: write with immediate, write, send
constexpr size_t rc_first_frame = 2 * family_frames;

const std::vector<ByteVector>& frames() {
  static const auto all = read_capture(CW_SOURCE_DIR "/tests/data/packets/rxe-golden.pcap");
  return all;
}

IpAddress ipv4_address(uint8_t last) { return {10, 9, 0, last}; }
IpAddress ipv6_address(uint8_t last) {
  return {0xfd, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last};
}

/// One frame of the first two thirds: family, then size, then kind.
struct Place {
  size_t frame;
  bool is_ipv6() const { return frame >= family_frames; }
  size_t size_index() const { return frame % family_frames / 3; }
  size_t kind() const { return frame % 3; }
  uint32_t first_qp() const { return is_ipv6() ? 0x13 : 0x11; }
  /// The sequence numbers of a connection begin three before the wrap.
  Psn psn(uint64_t nth) const { return Psn(0xfffffd + nth); }
};

void expect_address(const FrameAddress& address, Place place) {
  const bool is_ipv6 = place.is_ipv6();
  EXPECT_EQ(address.source_mac, (MacAddress{0x52, 0x54, 0, 0, 0, 1}));
  EXPECT_EQ(address.target_mac, (MacAddress{0x52, 0x54, 0, 0, 0, 2}));
  EXPECT_EQ(address.vlan, std::nullopt);
  EXPECT_EQ(address.ip_version, is_ipv6 ? IpVersion::V6 : IpVersion::V4);
  EXPECT_EQ(address.source_ip, is_ipv6 ? ipv6_address(1) : ipv4_address(1));
  EXPECT_EQ(address.target_ip, is_ipv6 ? ipv6_address(2) : ipv4_address(2));
  EXPECT_EQ(address.dscp << 2 | address.ecn, 0x28);
  EXPECT_EQ(address.hop_limit, 64);
  EXPECT_EQ(address.target_udp_port, roce_udp_port);
  EXPECT_FALSE(address.has_udp_checksum);
  const uint16_t ud_port = is_ipv6 ? 59626 : 63494;
  EXPECT_EQ(address.source_udp_port, place.kind() == 2 ? ud_port : 58177);
  EXPECT_EQ(address.flow_label, 0u);  // 0x12345 was asked for; soft-RoCE writes none
  if (!is_ipv6) {
    EXPECT_TRUE(address.dont_fragment);
    EXPECT_NE(address.identification, 0);
  }
}

void expect_write(const Transport& packet, Place place) {
  const auto i = static_cast<uint32_t>(place.size_index());
  const bool has_immediate = place.kind() == 0;
  EXPECT_EQ(packet.opcode, has_immediate ? opcode_uc_write_only_immediate : opcode_uc_write_only);
  EXPECT_EQ(packet.target_qp, place.first_qp());
  EXPECT_EQ(packet.psn, place.psn(2 * i + place.kind()));
  ASSERT_TRUE(packet.rdma);
  EXPECT_EQ(packet.rdma->bytes, sizes[i]);
  EXPECT_NE(packet.rdma->key, 0u);
  EXPECT_NE(packet.rdma->address, 0u);
  EXPECT_EQ(packet.datagram, std::nullopt);
  EXPECT_EQ(packet.immediate, has_immediate ? std::optional(5u << 22 | i << 4 | i) : std::nullopt);
  EXPECT_EQ(packet.is_solicited, has_immediate && i == 5);
}

void expect_send(const Transport& packet, Place place) {
  const auto i = static_cast<uint32_t>(place.size_index());
  const bool has_immediate = i % 2 == 1;
  EXPECT_EQ(packet.opcode, has_immediate ? opcode_ud_send_only_immediate : opcode_ud_send_only);
  EXPECT_EQ(packet.target_qp, place.first_qp() + 1);
  EXPECT_EQ(packet.psn, place.psn(i));
  EXPECT_EQ(packet.rdma, std::nullopt);
  EXPECT_EQ(packet.datagram, (DatagramSource{0x11111111, place.first_qp() + 1}));
  EXPECT_EQ(packet.immediate, has_immediate ? std::optional(0xabcd0000u | i) : std::nullopt);
  EXPECT_FALSE(packet.is_solicited);
}

TEST(Rxe, capture_holds_ninety_six_frames) { EXPECT_EQ(frames().size(), 96u); }

// SPEC 2.1, SPEC 2.2, SPEC 2.3, SPEC 2.4, SPEC 2.5, SPEC 2.6, SPEC 2.7, SPEC 2.8, SPEC 2.9
TEST(Rxe, every_write_and_send_decodes_to_the_fields_it_was_sent_with) {
  for (size_t i = 0; i < rc_first_frame; ++i) {
    SCOPED_TRACE("frame " + std::to_string(i + 1));
    const Place place{i};
    const ExactCopy copy(frames()[i]);
    const Decoded decoded = decode(copy.span());
    ASSERT_EQ(decoded.error, std::nullopt);
    expect_address(decoded.frame.address, place);
    EXPECT_EQ(decoded.transport.payload.size(), sizes[place.size_index()]);
    EXPECT_EQ(decoded.transport.partition_key, default_partition_key);
    EXPECT_FALSE(decoded.transport.wants_acknowledgement || decoded.transport.is_migrated);
    EXPECT_FALSE(decoded.transport.has_fecn || decoded.transport.has_becn);
    place.kind() == 2 ? expect_send(decoded.transport, place)
                      : expect_write(decoded.transport, place);
  }
}

// SPEC 2.11: packets of other people's connections.
TEST(Rxe, reliable_connections_are_classified) {
  struct Row {
    size_t count;
    Operation operation;
    uint32_t target_qp;
    size_t payload_bytes;
  };
  // WRITE first, middle, last: five times 3000 bytes in packets of 1024, then one kind at a time.
  constexpr Row rows[] = {{15, Operation::Write, 0x15, 1024},
                          {5, Operation::ReadRequest, 0x16, 0},
                          {5, Operation::Send, 0x17, 100},
                          {5, Operation::AtomicRequest, 0x18, 0}};
  size_t at = rc_first_frame;
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.count; ++i, ++at) {
      SCOPED_TRACE("frame " + std::to_string(at + 1));
      const ExactCopy copy(frames()[at]);
      const Decoded decoded = decode(copy.span());
      ASSERT_EQ(decoded.error, std::nullopt);
      const auto known = classify_transport(decoded.frame.transport_of(copy.span()));
      ASSERT_TRUE(known);
      EXPECT_EQ(known->facts.service, Service::Rc);
      EXPECT_EQ(known->facts.operation, row.operation);
      EXPECT_TRUE(known->facts.is_request());
      EXPECT_EQ(known->target_qp, row.target_qp);
      EXPECT_EQ(known->psn, decoded.transport.psn);
      const bool is_write_last = known->opcode == 0x08;
      EXPECT_EQ(decoded.transport.payload.size(), is_write_last ? 952 : row.payload_bytes);
    }
  }
  EXPECT_EQ(at, frames().size());
}

// SPEC 3.2
TEST(Rxe, every_icrc_of_the_kernel_is_right) {
  for (const ByteVector& frame : frames()) EXPECT_TRUE(decode(frame).has_right_icrc);
}

// SPEC 3.2: each byte that the ICRC covers matters, each masked one does not.
TEST(Rxe, icrc_covers_exactly_what_routers_leave_alone) {
  for (const size_t index : {size_t{18}, size_t{51}}) {  // 63 bytes of payload, IPv4 and IPv6
    ByteVector frame = frames()[index];
    const Frame outer = *parse_frame(frame, FrameStart::Ethernet);
    const bool is_ipv6 = outer.address.ip_version == IpVersion::V6;
    const size_t bth = outer.transport_offset;
    // The bit that is flipped is one of the low four: the traffic class in byte 0 of IPv6.
    std::set<size_t> masked = {bth - 2, bth - 1, bth + 4};
    for (const size_t offset :
         is_ipv6 ? std::set<size_t>{0, 1, 2, 3, 7} : std::set<size_t>{1, 8, 10, 11}) {
      masked.insert(outer.ip_offset + offset);
    }
    for (size_t i = outer.ip_offset; i < frame.size(); ++i) {
      frame[i] ^= 0x08;
      const std::span<const uint8_t> bytes(frame);
      const bool is_right = exact_icrc().is_right(
          bytes.subspan(outer.ip_offset, bth - outer.ip_offset), bytes.subspan(bth));
      EXPECT_EQ(is_right, masked.contains(i))
          << "byte " << i - outer.ip_offset << " of the IP packet";
      frame[i] ^= 0x08;
    }
  }
}

TEST(Rxe, encoders_reproduce_every_frame_byte_for_byte) {
  for (size_t i = 0; i < rc_first_frame; ++i) {
    SCOPED_TRACE("frame " + std::to_string(i + 1));
    const Decoded decoded = decode(frames()[i]);
    EXPECT_EQ(make_frame(decoded.frame.address, decoded.transport), frames()[i]);
  }
}

}  // namespace
}  // namespace cw::test
