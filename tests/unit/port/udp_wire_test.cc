// What the UDP port with exact ICRCs puts on a wire, and what it makes of a wire's packets: behind
// a TUN device, whose other end the test reads and writes. The kernel cuts what was joined before.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "dataplane/port/tun/tun_device.h"
#include "tests/unit/port/network_space.h"
#include "tests/unit/port/udp_pair.h"
#include "tests/unit/wire/packets.h"

namespace cw::test {
namespace {

constexpr size_t vnet_header_bytes = 10;
constexpr uint16_t paths = 3;

/// The addresses of the golden capture: soft-RoCE at 1 has sent it to 2.
struct Ends {
  const char *own, *peer;
};
constexpr Ends v4_ends{"10.9.0.2", "10.9.0.1"}, v6_ends{"fd09::2", "fd09::1"};

class UdpWire : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    CW_NEEDS_NETWORK_SPACE();
    space_.emplace();
    auto made = TunDevice::make({.name = "wan", .mtu = 9000, .offload = false});
    ASSERT_TRUE(made) << made.error().sentence;
    device_.emplace(std::move(*made));
    set_ipv4("wan", v4_ends.own);
    set_ipv6("wan", v6_ends.own);
  }

  bool is_v6() const { return GetParam(); }
  UdpPortOptions options() const {
    const Ends& ends = is_v6() ? v6_ends : v4_ends;
    UdpPortOptions options = udp_options(roce_udp_port, roce_udp_port, ends.own);
    options.peers[0].address = ends.peer;
    options.peers.push_back(options.peers[0]);
    options.peers[1].link = 2;
    options.paths = paths;
    options.packets = 1024;
    options.icrc = IcrcMode::Exact;
    return options;
  }
  void open_port(const UdpPortOptions& options) {
    auto made = UdpPort::make(options);
    if (!made) throw std::runtime_error(made.error().sentence);
    port_ = std::move(*made);
  }
  UdpPort& port() { return *port_; }

  /// The UDP packets that have left, from their IP headers on.
  std::vector<ByteVector> read_packets() {
    std::vector<ByteVector> all;
    ByteVector bytes(65536);
    for (ssize_t size; (size = read(device_->fd(), bytes.data(), bytes.size())) > 0;) {
      const ByteVector packet(bytes.begin() + vnet_header_bytes, bytes.begin() + size);
      if (packet[is_v6() ? 6 : 9] == 17) all.push_back(packet);
    }
    return all;
  }
  void write_packet(std::span<const uint8_t> packet) {
    ByteVector with_header(vnet_header_bytes);
    with_header.insert(with_header.end(), packet.begin(), packet.end());
    ASSERT_EQ(write(device_->fd(), with_header.data(), with_header.size()),
              static_cast<ssize_t>(with_header.size()));
  }
  /// As an RNIC or a dissector would check them. Returns the identifications.
  std::multiset<uint16_t> expect_exact(const std::vector<ByteVector>& packets) {
    std::multiset<uint16_t> ids;
    for (const ByteVector& bytes : packets) {
      const Decoded decoded = decode(bytes, FrameStart::Ip);
      EXPECT_EQ(decoded.error, std::nullopt);
      EXPECT_TRUE(decoded.has_right_icrc);
      EXPECT_TRUE(is_v6() || decoded.frame.address.dont_fragment);
      ids.insert(decoded.frame.address.identification);
    }
    return ids;
  }

 private:
  std::optional<NetworkSpace> space_;
  std::optional<TunDevice> device_;
  std::unique_ptr<UdpPort> port_;
};

// SPEC 3.2, SPEC 3.8
TEST_P(UdpWire, bears_exact_icrcs_of_every_size_way_and_place_in_a_message) {
  open_port(options());
  size_t sent = 0;
  std::vector<ByteVector> left;
  for (const size_t payload_bytes : {0, 1, 2, 3, 64, 1023, 1400, 4096, 8192}) {
    std::vector<Packet*> packets;
    for (uint8_t i = 0; i < 60; ++i) {
      const size_t less = i % 7 == 6 ? std::min<size_t>(payload_bytes, 4) : 0;  // ends a message
      packets.push_back(make_packet(port(), payload_bytes - less, i));
      packets.back()->peer = i / 20 % 2, packets.back()->path = i / 20 % paths;
      packets.back()->dscp = 46, packets.back()->ecn = i / 30 % 2;
    }
    ASSERT_EQ(port().tx_burst(packets, Instant()), packets.size());
    sent += packets.size();
    for (ByteVector& each : read_packets()) left.push_back(std::move(each));
  }
  EXPECT_EQ(left.size(), sent);
  const auto ids = expect_exact(left);
  EXPECT_LT(port().status().tx_messages, sent) << "nothing was joined";
  EXPECT_EQ(*ids.rbegin() > 1, !is_v6()) << "the kernel numbers what it cuts otherwise";
}

TEST_P(UdpWire, bears_exact_icrcs_of_payload_that_lies_elsewhere) {
  open_port(options());
  std::vector<Packet*> packets;
  std::vector<ByteVector> elsewhere;
  for (uint8_t i = 0; i < 40; ++i) {
    const size_t bytes = i < 20 ? 1401 : 1000u + i;
    packets.push_back(make_packet(port(), bytes, i));
    Packet& packet = *packets.back();
    elsewhere.emplace_back(packet.data + 32, packet.data + 32 + bytes);
    packet.bytes = 32;
    packet.payload = elsewhere.back().data();
    packet.payload_bytes = static_cast<uint32_t>(bytes);
  }
  ASSERT_EQ(port().tx_burst(packets, Instant()), packets.size());
  const auto left = read_packets();
  EXPECT_EQ(left.size(), packets.size());
  expect_exact(left);
}

// What was joined is sent again one by one, where one of it is too long.
TEST_P(UdpWire, bears_exact_icrcs_of_what_could_not_leave_joined) {
  open_port(options());
  set_mtu("wan", 1500);
  std::vector<Packet*> packets;
  for (uint8_t i = 0; i < 12; ++i) {
    packets.push_back(make_packet(port(), i % 6 < 3 ? 4096 : 1400, i));
  }
  ASSERT_EQ(port().tx_burst(packets, Instant()), packets.size());
  const auto left = read_packets();
  EXPECT_EQ(left.size(), packets.size() - port().status().tx_too_big);
  EXPECT_EQ(left.size(), 6u);
  expect_exact(left);
}

// By a kernel's soft-RoCE: identifications and ICRCs as it gives them.
TEST_P(UdpWire, carries_in_what_an_rnic_has_sent) {
  constexpr uint16_t uc_port = 58'177;
  UdpPortOptions wanted = options();
  wanted.peers.resize(1);
  wanted.peers[0].source_port = uc_port, wanted.paths = 1;
  open_port(wanted);
  size_t known = 0, unknown = 0;
  for (const ByteVector& frame :
       read_capture(CW_SOURCE_DIR "/tests/data/packets/rxe-golden.pcap")) {
    const Decoded decoded = decode(frame);
    if ((decoded.frame.address.ip_version == IpVersion::V6) != is_v6()) continue;
    write_packet(std::span(frame).subspan(decoded.frame.ip_offset));
    ++(decoded.frame.address.source_udp_port == uc_port ? known : unknown);
    // The same with a bit that is wrong, anywhere in the transport packet or its ICRC.
    ByteVector damaged = frame;
    const size_t first = decoded.frame.transport_offset + sizeof(Bth);
    damaged[first + known * 7 % (frame.size() - first)] ^= 0x10;
    write_packet(std::span(damaged).subspan(decoded.frame.ip_offset));
  }
  ASSERT_GE(known, 22u);
  const auto received = receive(port(), known);
  EXPECT_EQ(received.size(), known);
  for (const Packet* packet : received) {
    EXPECT_TRUE(parse_transport({packet->data, packet->bytes}));
    EXPECT_EQ(packet->dscp << 2 | packet->ecn, 0x28);
  }
  EXPECT_TRUE(receive_in_vain(port()).empty());
  EXPECT_EQ(port().status().rx_unknown, 2 * unknown);
  EXPECT_EQ(port().counters().rx_malformed, 2 * unknown + known);
}

INSTANTIATE_TEST_SUITE_P(Over, UdpWire, testing::Bool(),
                         [](const auto& each) { return each.param ? "ipv6" : "ipv4"; });

}  // namespace
}  // namespace cw::test
