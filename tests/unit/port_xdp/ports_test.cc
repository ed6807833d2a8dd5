// Ports over AF_XDP: a WAN's beside a peer over sockets, a LAN's beside a kernel's hosts.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "dataplane/port/frame/frame_lan_port.h"
#include "dataplane/port/frame/frame_wan_port.h"
#include "dataplane/port/udp/udp_port.h"
#include "dataplane/port/xdp/xdp_driver.h"
#include "offload/crc32.h"
#include "tests/unit/port/made_packet.h"
#include "tests/unit/port/polling.h"
#include "tests/unit/port_xdp/veth.h"
#include "tests/unit/port_xdp/wan_ports.h"

namespace cw::test {
namespace {

TEST(XdpPorts, of_a_wan_have_sockets_for_a_peer) {
  CW_NEEDS_NETWORK_SPACE();
  const Veth veth;
  for (const bool is_v6 : {false, true}) {
    const char* const own = is_v6 ? "2001:db8::1" : "192.0.2.1";
    const char* const other = is_v6 ? "2001:db8::2" : "192.0.2.2";
    veth.near.enter();
    const auto a = FrameWanPort::make(xdp_driver(), wan_options(own, other));
    ASSERT_TRUE(a) << a.error().sentence;
    veth.far.enter();
    const auto b = udp_port(other, own);
    ASSERT_TRUE(b) << b.error().sentence;
    // More than there are packets and descriptors, in rows.
    for (uint8_t round = 0; round < 40; ++round) {
      std::vector<Packet*> packets;
      for (uint8_t i = 0; i < 50; ++i) packets.push_back(make_packet(**b, 1000, i));
      ASSERT_EQ((*b)->tx_burst(packets, clock_now()), packets.size());
      const auto there = receive(**a, packets.size());
      ASSERT_EQ(there.size(), packets.size());
      for (uint8_t i = 0; i < 50; ++i) EXPECT_TRUE(is_made_packet(*there[i], 1000, i));
      if (round == 0) {
        const auto is_met = [&] { return (*a)->status().unresolved.empty(); };
        ASSERT_TRUE(receive_until(**a, is_met).empty());
      }
      ASSERT_EQ((*a)->tx_burst(there, clock_now()), there.size());
      const auto back = receive(**b, there.size());
      ASSERT_EQ(back.size(), there.size());
      for (uint8_t i = 0; i < 50; ++i) EXPECT_TRUE(is_made_packet(*back[i], 1000, i));
      (*b)->give_back(back);
    }
    EXPECT_EQ((*a)->counters().rx_malformed + (*b)->counters().rx_malformed, 0u);
    EXPECT_EQ((*a)->counters().rx_dropped, 0u);
    EXPECT_LE((*a)->counters().system_calls, 40 * 2 * 3u) << "one for 32 packets sent, and a few";
    run("busybox ping -c 2 -W 2 192.0.2.1 > /dev/null");  // the kernel's, as before
  }
}

/// A packet that its owner keeps is there until the last has let go, sent or not.
TEST(XdpPorts, of_a_wan_lend_every_packet_once_and_shared_ones_until_the_last_owner) {
  CW_NEEDS_NETWORK_SPACE();
  const Veth veth;
  const auto made = FrameWanPort::make(xdp_driver(), wan_options("192.0.2.1", "192.0.2.2"));
  ASSERT_TRUE(made) << made.error().sentence;
  FrameWanPort& port = **made;
  ASSERT_TRUE(receive_until(port, [&] { return port.status().unresolved.empty(); }).empty());
  std::vector<Packet*> all(4096);
  const size_t count = port.take_burst(all);
  ASSERT_GE(count, 512u);
  std::vector<Packet*> sorted(all.begin(), all.begin() + static_cast<ptrdiff_t>(count));
  std::ranges::sort(sorted);
  EXPECT_TRUE(std::ranges::adjacent_find(sorted) == sorted.end());
  port.give_back(std::span(all).first(count));
  for (int round = 0; round < 100; ++round) {
    Packet* packet = make_packet(port, 1000, 1);
    port.share({&packet, 1});
    ASSERT_EQ(port.tx_burst({&packet, 1}, clock_now()), 1u);
    receive_until(port, [&] { return !port.is_shared(*packet); });
    EXPECT_FALSE(port.is_shared(*packet));
    port.give_back({&packet, 1});
  }
  EXPECT_EQ(port.take_burst(all), count);
  port.give_back(std::span(all).first(count));
}

/// Sends datagrams of `count` ports of the far end to our UDP port, `each` of them.
void send_flows(const Veth& veth, uint16_t first_port, int count, int each) {
  veth.far.enter();
  for (int flow = 0; flow < count; ++flow) {
    const int fd = socket(AF_INET, SOCK_DGRAM, 0);
    sockaddr_in own{}, to{};
    own.sin_family = to.sin_family = AF_INET;
    own.sin_port = htons(static_cast<uint16_t>(first_port + flow));
    to.sin_port = htons(4791);
    inet_pton(AF_INET, "192.0.2.2", &own.sin_addr);
    inet_pton(AF_INET, "192.0.2.1", &to.sin_addr);
    ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&own), sizeof own), 0);
    const std::array<uint8_t, 64> bytes{0x29};
    for (int i = 0; i < each; ++i) {
      ASSERT_EQ(sendto(fd, bytes.data(), bytes.size(), 0, reinterpret_cast<const sockaddr*>(&to),
                       sizeof to),
                static_cast<ssize_t>(bytes.size()));
    }
    close(fd);
  }
  veth.near.enter();
}

TEST(XdpPorts, of_two_cores_have_a_queue_each_on_which_a_flow_stays) {
  CW_NEEDS_NETWORK_SPACE();
  const Veth veth(2);
  FrameDeviceOptions options;
  options.device = "v0";
  options.shards = 2;
  options.descriptors = 256;
  options.packet_bytes = 1500;
  options.packets = 512;
  const IpAddress us = parse_host_address("192.0.2.1", "test")->ip;
  const IpAddress peer = parse_host_address("192.0.2.2", "test")->ip;
  options.flows = {{.source = peer, .target = us, .target_udp_port = 4791}};
  const auto made = xdp_driver().make(options);
  ASSERT_TRUE(made) << made.error().sentence;
  const std::unique_ptr<FrameDevice> beside = (*made)->beside(1);
  FrameDevice* const shards[] = {made->get(), beside.get()};
  std::vector<Packet*> all(4096);
  size_t lent[2];
  for (int i = 0; i < 2; ++i) {
    lent[i] = shards[i]->take_burst(all);
    shards[i]->give_back(std::span(all).first(lent[i]));
  }
  constexpr int flows = 64, each = 4;
  send_flows(veth, 20'000, flows, each);
  std::map<uint16_t, std::set<int>> shards_of;
  size_t come = 0;
  const Instant start = clock_now();
  while (come < flows * each && clock_now() - start < Duration::from_s(20)) {
    for (int i = 0; i < 2; ++i) {
      std::array<Packet*, limits::burst_packets_max> burst;
      const size_t got = shards[i]->rx_burst(burst);
      come += got;
      for (Packet* packet : std::span(burst).first(got)) {
        const uint8_t* const udp = packet->data + 14 + 20;
        shards_of[static_cast<uint16_t>(udp[0] << 8 | udp[1])].insert(i);
        // The other one has it from here on, and gives it back.
        ASSERT_TRUE(shards[i]->try_hand_over(packet, static_cast<uint16_t>(1 - i)));
      }
      const size_t handed = shards[i]->rx_handed(burst);
      shards[i]->give_back(std::span(burst).first(handed));
    }
  }
  EXPECT_EQ(come, size_t{flows * each});
  ASSERT_EQ(shards_of.size(), size_t{flows});
  size_t by_first = 0;
  for (const auto& [port, by] : shards_of) {
    EXPECT_EQ(by.size(), 1u) << port;
    by_first += by.contains(0);
  }
  EXPECT_GT(by_first, 0u);
  EXPECT_LT(by_first, size_t{flows});
  // All are whose they were.
  for (int round = 0; round < 3; ++round) {
    for (FrameDevice* shard : shards) {
      std::array<Packet*, limits::burst_packets_max> burst;
      EXPECT_EQ(shard->rx_burst(burst), 0u);
      shard->give_back(std::span(burst).first(shard->rx_handed(burst)));
    }
  }
  for (int i = 0; i < 2; ++i) EXPECT_GE(shards[i]->take_burst(all) + 64, lent[i]) << i;
}

TEST(XdpPorts, of_a_lan_take_packets_of_hosts_and_leave_them_theirs) {
  CW_NEEDS_NETWORK_SPACE();
  const Veth veth;
  FrameLanOptions options;
  options.device = "v0";
  options.addresses = {{*parse_host_address("192.0.2.1", "test"), 24}};
  options.targets = {{IpVersion::V4, parse_host_address("10.2.0.0", "test")->ip, 16}};
  options.descriptors = 256;
  options.packets = 512;
  const auto made = FrameLanPort::make(xdp_driver(), options);
  ASSERT_TRUE(made) << made.error().sentence;
  FrameLanPort& port = **made;
  veth.far.enter();
  run("ip route add 10.2.0.0/16 via 192.0.2.1; busybox ping -c 1 -W 2 192.0.2.1 > /dev/null");
  run("busybox ping -c 3 -W 1 10.2.0.5 > /dev/null; true");
  veth.near.enter();
  const auto received = receive(port, 3);
  ASSERT_EQ(received.size(), 3u);
  for (Packet* packet : received) {
    ASSERT_GE(packet->bytes, 20u);
    EXPECT_EQ(packet->data[0] >> 4, 4);
    EXPECT_EQ(packet->data[16], 10);  // to 10.2.0.5
    std::swap_ranges(packet->data + 12, packet->data + 16, packet->data + 16);
  }
  // To the host that sent them, whose MAC the kernel knows; the first asks for it.
  const Instant start = clock_now();
  size_t sent = 0;
  while (sent < received.size() && clock_now() - start < Duration::from_s(20)) {
    sent += port.tx_burst(std::span(received).subspan(sent), clock_now());
  }
  EXPECT_EQ(sent, received.size());
  EXPECT_EQ(port.status().tx_unresolved + port.status().tx_unrouted, 0u);
  EXPECT_EQ(port.counters().tx_packets, 3u);
}

}  // namespace
}  // namespace cw::test
