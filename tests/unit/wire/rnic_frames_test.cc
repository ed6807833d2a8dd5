// Frames of a peer that is an RNIC: data from source ports of its own, control packets from any.
#include <gtest/gtest.h>

#include "dataplane/wire/outer/peer_frames.h"
#include "tests/unit/wire/packets.h"

namespace cw::test {
namespace {

using Kind = PeerFrames::Kind;

constexpr MacAddress our_mac = {2, 0, 0, 0, 0, 1};
constexpr uint16_t rnic_port = 50'000, stray_port = 61'234, paths = 2;

IpAddress ip(uint8_t last) { return {10, 0, 0, last}; }

/// Ours: links 0 and 3 to an RNIC at 2, one to each of two gateways at 3, one to 4.
PeerFrames near_end(IpVersion version) {
  return PeerFrames({.ip_version = version,
                     .ip = ip(1),
                     .mac = our_mac,
                     .paths = paths,
                     .peers = {{.ip = ip(2), .source_port = rnic_port},
                               {.ip = ip(2), .link = 3, .source_port = rnic_port},
                               {.ip = ip(3), .udp_port = 5000},
                               {.ip = ip(3), .udp_port = 6000},
                               {.ip = ip(4)}}},
                    exact_icrc());
}

Transport data() {
  Transport packet;
  packet.opcode = opcode_uc_write_only;
  packet.rdma = RdmaTarget();
  return packet;
}
Transport control(uint32_t qpn) {
  Transport packet;
  packet.opcode = opcode_ud_send_only;
  packet.target_qp = qpn;
  packet.datagram = {control_qkey, 17};
  return packet;
}

ByteVector frame_of(IpVersion version, uint8_t from, uint16_t source_port,
                    const Transport& packet) {
  FrameAddress address;
  address.target_mac = our_mac;
  address.ip_version = version;
  address.source_ip = ip(from);
  address.target_ip = ip(1);
  address.identification = version == IpVersion::V4 ? 77 : 0;
  address.source_udp_port = source_port;
  return make_frame(address, packet);
}

class RnicFrames : public testing::TestWithParam<IpVersion> {
 protected:
  Kind read(uint8_t from, uint16_t source_port, const Transport& packet) {
    return read(frame_of(GetParam(), from, source_port, packet));
  }
  Kind read(const ByteVector& bytes) {
    const ExactCopy copy(bytes);
    read_ = {};
    return near_.read(copy.span(), read_);
  }

  PeerFrames near_ = near_end(GetParam());
  PeerFrame read_;
};

// [C-63]
TEST_P(RnicFrames, of_data_come_from_the_source_ports_of_their_link) {
  for (const uint16_t link : {0, 3}) {
    for (uint16_t path = 0; path < paths; ++path) {
      const auto port = static_cast<uint16_t>(rnic_port + 16 * link + path);
      ASSERT_EQ(read(2, port, data()), Kind::Right);
      EXPECT_EQ(read_.peer, link == 0 ? 0 : 1);
      EXPECT_EQ(read_.path, path);
    }
  }
  EXPECT_EQ(read(2, roce_udp_port, data()), Kind::Unknown) << "its target port is none of them";
}

TEST_P(RnicFrames, go_to_the_udp_port_of_the_peer_from_our_own) {
  constexpr size_t bytes = 40;
  ByteVector room(outer_headers_bytes_max + bytes + icrc_bytes);
  const auto transport = std::span(room).subspan(outer_headers_bytes_max, bytes);
  const size_t before = near_.wrap(near_.route_to(1, 1, {2, 0, 0, 0, 0, 9}), transport, 0, 0);
  const auto frame =
      parse_frame(std::span(room).subspan(outer_headers_bytes_max - before), FrameStart::Ethernet);
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->address.source_udp_port, roce_udp_port + 16 * 3 + 1);
  EXPECT_EQ(frame->address.target_udp_port, roce_udp_port);
}

// [C-65]
TEST_P(RnicFrames, of_control_may_come_from_any_port) {
  for (const uint16_t port : {rnic_source_port_min, stray_port, uint16_t{UINT16_MAX}}) {
    ASSERT_EQ(read(2, port, control(control_qpn_of(3))), Kind::Right) << port;
    EXPECT_EQ(read_.peer, 1);
    EXPECT_EQ(read_.path, 0);
    ASSERT_EQ(read(2, port, control(control_qpn_of(0))), Kind::Right) << port;
    EXPECT_EQ(read_.peer, 0);
  }
  // From a port of a path it is that path's.
  ASSERT_EQ(read(2, rnic_port + 1, control(control_qpn_of(0))), Kind::Right);
  EXPECT_EQ(read_.path, 1);
  EXPECT_EQ(read(4, stray_port, control(control_qpn_of(0))), Kind::Right);
  EXPECT_EQ(read_.peer, 4);
}

// [C-65]
TEST_P(RnicFrames, of_all_else_from_such_ports_are_unknown) {
  EXPECT_EQ(read(2, stray_port, data()), Kind::Unknown);
  EXPECT_EQ(near_.unknown().control_link, std::nullopt);
  EXPECT_EQ(read(2, stray_port, control(17)), Kind::Unknown) << "no control QP";
  EXPECT_EQ(read(2, stray_port, control(control_qpn_default + 16)), Kind::Unknown);
  EXPECT_EQ(read(2, rnic_source_port_min - 1, control(control_qpn_of(0))), Kind::Unknown)
      << "no RNIC sends from there";
  EXPECT_EQ(near_.unknown().control_link, std::nullopt);
  EXPECT_EQ(read(9, stray_port, control(control_qpn_of(0))), Kind::Unknown) << "a stranger";
  EXPECT_EQ(near_.unknown().control_link, 0);
  EXPECT_EQ(read(3, stray_port, control(control_qpn_of(0))), Kind::Unknown) << "one of two";
  EXPECT_EQ(read(2, stray_port, control(control_qpn_of(7))), Kind::Unknown) << "a link elsewhere";
  EXPECT_EQ(near_.unknown().control_link, 7);
  EXPECT_EQ(near_.unknown().source.udp_port, stray_port);
}

// [C-65] What is taken from any port is as whole as all else.
TEST_P(RnicFrames, of_control_are_checked_to_the_last_bit) {
  const ByteVector right = frame_of(GetParam(), 2, stray_port, control(control_qpn_of(0)));
  for (size_t bytes = 0; bytes < right.size(); ++bytes) {
    const ByteVector cut(right.begin(), right.begin() + static_cast<ptrdiff_t>(bytes));
    EXPECT_NE(read(cut), Kind::Right) << bytes;
  }
  const size_t transport = GetParam() == IpVersion::V4 ? 42 : 62;
  for (size_t i = transport; i < right.size(); ++i) {
    ByteVector forged = right;
    forged[i] ^= 1;
    const bool is_masked = i == transport + offsetof(Bth, congestion);
    EXPECT_EQ(read(forged) == Kind::Right, is_masked) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Over, RnicFrames, testing::Values(IpVersion::V4, IpVersion::V6),
                         [](const auto& each) {
                           return each.param == IpVersion::V4 ? "ipv4" : "ipv6";
                         });

}  // namespace
}  // namespace cw::test
