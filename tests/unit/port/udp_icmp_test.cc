// The UDP port and what strangers say of its packets by ICMP: behind a TUN device, whose other end
// the test reads and writes.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "dataplane/port/tun/tun_device.h"
#include "dataplane/wire/checksum.h"
#include "dataplane/wire/ip_layout.h"
#include "tests/unit/port/network_space.h"
#include "tests/unit/port/udp_pair.h"

namespace cw::test {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr uint16_t own_port = 4791, paths = 4;
constexpr size_t payload_bytes = 1400;
constexpr uint8_t protocol_icmp = 1, protocol_icmp_v6 = 58;

struct Ends {
  const char *own, *peer, *stranger;
};
constexpr Ends v4_ends{"10.9.0.1", "10.9.0.2", "10.9.0.77"};
constexpr Ends v6_ends{"fd00:9::1", "fd00:9::2", "fd00:9::77"};

void append_address(Bytes& bytes, const char* text) {
  const bool is_v6 = std::string(text).find(':') != std::string::npos;
  uint8_t address[16];
  inet_pton(is_v6 ? AF_INET6 : AF_INET, text, address);
  bytes.insert(bytes.end(), address, address + (is_v6 ? 16 : 4));
}

Bytes ip_packet(const char* from, const char* to, uint8_t protocol, const Bytes& body) {
  Bytes packet;
  if (std::string(from).find(':') == std::string::npos) {
    const size_t bytes = 20 + body.size();
    packet = {0x45,
              0,
              static_cast<uint8_t>(bytes >> 8),
              static_cast<uint8_t>(bytes),
              0,
              0,
              0x40,
              0,
              64,
              protocol,
              0,
              0};
    append_address(packet, from);
    append_address(packet, to);
    ip_layout::store16(&packet[10], static_cast<uint16_t>(~sum_of(packet)));
  } else {
    packet = {0x60,
              0,
              0,
              0,
              static_cast<uint8_t>(body.size() >> 8),
              static_cast<uint8_t>(body.size()),
              protocol,
              64};
    append_address(packet, from);
    append_address(packet, to);
  }
  packet.insert(packet.end(), body.begin(), body.end());
  return packet;
}

/// What an ICMP packet begins with.
struct Complaint {
  const char* name;
  uint8_t type, code;
  uint32_t rest = 0;  // behind the checksum: an MTU, say
};
constexpr Complaint needs_576{"fragmentation needed", 3, 4, 576};
constexpr Complaint too_big_1280{"packet too big", 2, 0, 1280};

constexpr Complaint v4_complaints[] = {needs_576,
                                       {"net unreachable", 3, 0},
                                       {"host unreachable", 3, 1},
                                       {"no protocol", 3, 2},
                                       {"port unreachable", 3, 3},
                                       {"source route", 3, 5},
                                       {"prohibited", 3, 13},
                                       {"source quench", 4, 0},
                                       {"redirect", 5, 1, 0x0a09004d},
                                       {"time exceeded", 11, 0},
                                       {"parameter problem", 12, 0}};
constexpr Complaint v6_complaints[] = {
    too_big_1280,     {"no route", 1, 0}, {"prohibited", 1, 1}, {"address", 1, 3}, {"port", 1, 4},
    {"source", 1, 5}, {"rejected", 1, 6}, {"hop limit", 3, 0},  {"unknown", 4, 1}};

class UdpPortIcmp : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (!NetworkSpace::may_unshare()) GTEST_SKIP() << "needs root and /dev/net/tun";
    space_.emplace();
    auto made = TunDevice::make({.name = "wan", .mtu = 1500, .offload = false});
    ASSERT_TRUE(made) << made.error().sentence;
    device_.emplace(std::move(*made));
    set_ipv4("wan", v4_ends.own);
    set_ipv6("wan", v6_ends.own);
    open_port();
  }

  void open_port() {
    port_.reset();
    UdpPortOptions options = udp_options(own_port, own_port, ends().own);
    options.peers[0].address = ends().peer;
    options.paths = paths;
    options.packets = 1024;
    auto made = UdpPort::make(options);
    ASSERT_TRUE(made) << made.error().sentence;
    port_ = std::move(*made);
  }

  bool is_v6() const { return GetParam(); }
  const Ends& ends() const { return is_v6() ? v6_ends : v4_ends; }
  std::span<const Complaint> complaints() const {
    return is_v6() ? std::span<const Complaint>(v6_complaints) : v4_complaints;
  }
  UdpPort& port() { return *port_; }

  void write(const Bytes& packet) {
    Bytes with_header(10);  // of virtio_net: nothing to say
    with_header.insert(with_header.end(), packet.begin(), packet.end());
    ASSERT_EQ(::write(device_->fd(), with_header.data(), with_header.size()),
              static_cast<ssize_t>(with_header.size()));
  }

  /// Somebody says of a packet of every path of ours what he knows of nothing but the addresses.
  void complain(const Complaint& complaint) {
    for (uint16_t path = 0; path < paths; ++path) {
      Bytes udp(8 + 40);
      ip_layout::store16(&udp[0], own_port + path);
      ip_layout::store16(&udp[2], own_port);
      ip_layout::store16(&udp[4], payload_bytes);
      const Bytes quoted = ip_packet(ends().own, ends().peer, ip_layout::protocol_udp, udp);
      Bytes icmp = {complaint.type, complaint.code, 0, 0, 0, 0, 0, 0};
      ip_layout::store32(&icmp[4], complaint.rest);
      icmp.insert(icmp.end(), quoted.begin(), quoted.end());
      uint16_t sum = sum_of(icmp);
      Bytes addresses;
      append_address(addresses, ends().stranger);
      append_address(addresses, ends().own);
      if (is_v6()) {
        sum = add_sums(sum, pseudo_header_sum(addresses, protocol_icmp_v6, icmp.size()));
      }
      ip_layout::store16(&icmp[2], static_cast<uint16_t>(~sum));
      write(
          ip_packet(ends().stranger, ends().own, is_v6() ? protocol_icmp_v6 : protocol_icmp, icmp));
    }
  }

  /// The UDP packets that have left, whole.
  std::vector<Bytes> read_packets() {
    std::vector<Bytes> all;
    Bytes bytes(65536);
    for (ssize_t size; (size = read(device_->fd(), bytes.data(), bytes.size())) > 10;) {
      const Bytes packet(bytes.begin() + 10, bytes.begin() + size);
      if (packet[is_v6() ? 6 : 9] == ip_layout::protocol_udp) all.push_back(packet);
    }
    return all;
  }

  /// A burst over all paths, every packet of which leaves as it is.
  void expect_sent(const std::string& what) {
    (void)read_packets();
    std::vector<Packet*> packets;
    for (uint8_t i = 0; i < 8 * paths; ++i) {
      packets.push_back(make_packet(port(), payload_bytes, i));
      packets.back()->path = i % paths;
    }
    ASSERT_EQ(port().tx_burst(packets, Instant()), packets.size()) << what;
    const auto left = read_packets();
    EXPECT_EQ(left.size(), packets.size()) << what;
    const size_t headers = (is_v6() ? 40 : 20) + 8;
    for (const Bytes& each : left) {
      EXPECT_EQ(each.size(), headers + 32 + payload_bytes + 4) << what;
      const bool may_be_cut = !is_v6() && (each[6] & 0x40) == 0;
      EXPECT_FALSE(may_be_cut) << what;
    }
  }
  void expect_nothing_lost() {
    EXPECT_EQ(port().status().tx_lost, 0u);
    EXPECT_EQ(port().status().tx_too_big, 0u);
    EXPECT_EQ(port().counters().tx_refused, 0u);
  }

  /// What path 0 has sent, as if the peer had.
  void reflect() {
    Packet* packet = make_packet(port(), payload_bytes, 3);
    (void)read_packets();
    ASSERT_EQ(port().tx_burst({&packet, 1}, Instant()), 1u);
    auto left = read_packets();
    ASSERT_EQ(left.size(), 1u);
    const size_t addresses = is_v6() ? 8 : 12, bytes = is_v6() ? 16 : 4;
    const auto first = left[0].begin() + static_cast<ptrdiff_t>(addresses);
    std::swap_ranges(first, first + static_cast<ptrdiff_t>(bytes),
                     first + static_cast<ptrdiff_t>(bytes));
    write(left[0]);
  }

 private:
  std::optional<NetworkSpace> space_;
  std::optional<TunDevice> device_;
  std::unique_ptr<UdpPort> port_;
};

TEST_P(UdpPortIcmp, of_strangers_stops_no_packet) {
  expect_sent("at first");
  for (const Complaint& complaint : complaints()) {
    complain(complaint);
    expect_sent(complaint.name);
  }
  expect_nothing_lost();
}

TEST_P(UdpPortIcmp, by_the_hundred_stops_no_packet) {
  for (const Complaint& complaint : complaints()) {
    for (int i = 0; i < 100; ++i) complain(complaint);
    expect_sent(complaint.name);
  }
  expect_nothing_lost();
}

TEST_P(UdpPortIcmp, by_the_hundred_keeps_nothing_from_coming_in) {
  reflect();
  for (int i = 0; i < 100; ++i) complain(complaints()[4]);
  std::array<Packet*, limits::burst_packets_max> burst;
  ASSERT_EQ(port().rx_burst(burst, Instant()), 1u);
  EXPECT_TRUE(is_made_packet(*burst[0], payload_bytes, 3));
}

TEST_P(UdpPortIcmp, that_the_kernel_believed_before_the_start_is_worth_nothing) {
  complain(complaints()[0]);
  open_port();
  EXPECT_EQ(port().facts().payload_max, is_v6() ? 1416u : 1436u);
  expect_sent("with an exception in the kernel's routes");
  expect_nothing_lost();
}

TEST_P(UdpPortIcmp, wakes_an_idle_port_for_a_moment_only) {
  for (int i = 0; i < 100; ++i) complain(complaints()[4]);
  EXPECT_TRUE(receive_in_vain(port()).empty());
  const uint64_t calls = port().counters().system_calls;
  EXPECT_TRUE(receive_in_vain(port()).empty());
  EXPECT_LT(port().counters().system_calls - calls, 200u);
}

INSTANTIATE_TEST_SUITE_P(Over, UdpPortIcmp, testing::Bool(),
                         [](const auto& each) { return each.param ? "ipv6" : "ipv4"; });

}  // namespace
}  // namespace cw::test
