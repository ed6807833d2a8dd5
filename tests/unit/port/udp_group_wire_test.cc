// What the port of a group's members puts on a wire: behind a TUN device, whose other end the test
// reads.
#include <gtest/gtest.h>
#include <unistd.h>

#include "dataplane/pass/raw_port.h"
#include "dataplane/port/tun/tun_device.h"
#include "dataplane/port/udp/group/udp_group_port.h"
#include "dataplane/wire/control/envelope.h"
#include "dataplane/wire/group/datagram_inline.h"
#include "dataplane/wire/group/header.h"
#include "tests/command.h"
#include "tests/unit/port/network_space.h"
#include "tests/unit/wire/packets.h"

namespace cw::test {
namespace {

constexpr size_t vnet_header_bytes = 10;

/// A slot of a group as its members send it.
Send slot_to(uint16_t peer, const uint8_t* prefix, std::span<const uint8_t> payload) {
  Send send;
  send.form = Form::DatagramImmediate;
  send.head.target_qp = peer >= group_peer_first ? group::multicast_qp : 0xca15;
  send.head.psn = Psn(5);
  send.head.key = control_qkey;
  send.head.immediate = 0x07000009;
  send.head.payload_bytes = static_cast<uint32_t>(payload.size());
  send.source_qp = 0xca15;
  send.payload = payload.data();
  send.cookie = 1;
  send.peer = peer;
  set_prefix(send, prefix);
  return send;
}

std::vector<ByteVector> udp_packets_of(const TunDevice& device) {
  std::vector<ByteVector> all;
  ByteVector bytes(65536);
  for (ssize_t size; (size = read(device.fd(), bytes.data(), bytes.size())) > 0;) {
    const ByteVector packet(bytes.begin() + vnet_header_bytes, bytes.begin() + size);
    if (packet[packet[0] >> 4 == 4 ? 9 : 6] == 17) all.push_back(packet);
  }
  return all;
}

ByteVector as_frame(const ByteVector& packet) {
  ByteVector frame(14);
  const bool is_v4 = packet[0] >> 4 == 4;
  frame[12] = is_v4 ? 0x08 : 0x86;
  frame[13] = is_v4 ? 0x00 : 0xdd;
  frame.insert(frame.end(), packet.begin(), packet.end());
  return frame;
}

class UdpGroupWire : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(IpVersion, UdpGroupWire, testing::Bool(),
                         [](const auto& each) { return each.param ? "ipv6" : "ipv4"; });

// [C-66], and what strangers make of it
TEST_P(UdpGroupWire, slots_leave_as_ud_sends_of_roce_with_exact_icrcs) {
  CW_NEEDS_NETWORK_SPACE();
  const NetworkSpace space;
  auto device = TunDevice::make({.name = "lan", .mtu = 9000, .offload = false});
  ASSERT_TRUE(device) << device.error().sentence;
  const bool is_v6 = GetParam();
  set_ipv4("lan", "10.9.0.1");
  set_ipv6("lan", "fd09::1");
  UdpGroupPortOptions options;
  options.members = {"10.9.0.1", "10.9.0.2", "10.9.0.3"};
  if (is_v6) options.members = {"fd09::1", "fd09::2", "fd09::3"};
  options.groups = {is_v6 ? "ff02::ca:7" : "239.7.7.7"};
  options.crc32 = cw_crc32;
  auto port = UdpGroupPort::make(options);
  ASSERT_TRUE(port) << port.error().sentence;
  RawPort wire(**port);
  std::array<uint8_t, group::header_bytes> prefix{};
  group::encode_header({.source = 0, .key = 1, .slot = 9, .message_slots = 12}, prefix);
  const ByteVector payload(4096, 0x5a);
  std::vector<Send> sends;
  for (int i = 0; i < 40; ++i) {  // in rows, which the kernel cuts
    const size_t bytes = i < 38 ? payload.size() : 223;
    sends.push_back(slot_to(i % 20 == 19 ? 2 : group_peer_first, prefix.data(),
                            std::span(payload).first(bytes)));
  }
  ASSERT_EQ(wire.send(sends, Instant()), sends.size());
  const auto packets = udp_packets_of(*device);
  ASSERT_EQ(packets.size(), sends.size());
  EXPECT_LT((*port)->status().tx_messages, sends.size()) << "nothing was joined";

  std::vector<ByteVector> frames;
  for (size_t i = 0; i < packets.size(); ++i) {
    const bool is_to_all = sends[i].peer >= group_peer_first;
    const Decoded decoded = decode(packets[i], FrameStart::Ip);
    ASSERT_EQ(decoded.error, std::nullopt);
    EXPECT_TRUE(decoded.has_right_icrc) << i;
    EXPECT_TRUE(is_v6 || decoded.frame.address.dont_fragment);
    EXPECT_EQ(decoded.frame.address.target_udp_port, 4791);
    const uint8_t first_of_target = packets[i][is_v6 ? 24 : 16];
    EXPECT_EQ(first_of_target, is_to_all ? (is_v6 ? 0xff : 239) : (is_v6 ? 0xfd : 10));
    EXPECT_TRUE(!is_to_all || packets[i][is_v6 ? 7 : 8] == 1) << "hops";
    EXPECT_EQ(decoded.transport.opcode, opcode_ud_send_only_immediate);
    frames.push_back(as_frame(packets[i]));
  }
  const std::string path = testing::TempDir() + "causeway_udp_group_wire_test.pcap";
  write_capture(path, frames);
  const Output tshark =
      output_of("tshark -r " + path +
                " -T fields -E 'separator=|' -E occurrence=f -e infiniband.bth.opcode"
                " -e infiniband.bth.destqp -e infiniband.immdt 2>/dev/null");
  ASSERT_EQ(tshark.status, 0) << "tshark is missing or failed: install the package tshark";
  const auto lines = tshark.lines();
  ASSERT_EQ(lines.size(), frames.size());
  for (size_t i = 0; i < frames.size(); ++i) {
    const bool is_to_all = sends[i].peer >= group_peer_first;
    EXPECT_EQ(lines[i], is_to_all ? "101|0xffffff|07000009" : "101|0x00ca15|07000009");
  }
  std::remove(path.c_str());
}

}  // namespace
}  // namespace cw::test
