// A LAN port over DPDK and the far end of its wire, which whole frames are put on and read from.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "dataplane/base/limits.h"
#include "dataplane/neighbour/lan_frame.h"
#include "dataplane/port/dpdk/dpdk_driver.h"
#include "dataplane/port/dpdk/eal/device.h"
#include "dataplane/port/frame/frame_lan_port.h"
#include "dataplane/wire/outer/checksum.h"
#include "tests/unit/port_dpdk/dpdk_pair.h"

namespace cw::test {

using Bytes = std::vector<uint8_t>;

inline constexpr MacAddress host_mac = {2, 0, 0, 0, 0, 9}, other_mac = {2, 0, 0, 0, 0, 8};
inline constexpr Duration patience = Duration::from_s(5);

inline HostAddress host(const char* text) { return *parse_host_address(text, "test"); }

inline FrameLanOptions lan_options(const std::string& device) {
  FrameLanOptions options;
  options.device = device;
  options.addresses = {{host("10.1.0.1"), 24}, {host("2001:db8::1"), 64}};
  options.descriptors = 256;
  options.packets = 512;
  return options;
}

inline Bytes ip_packet(const HostAddress& source, const HostAddress& target, const Bytes& content,
                       uint8_t protocol = 200) {
  using namespace ip_layout;
  const bool is_v4 = source.is_v4();
  const size_t header_bytes = is_v4 ? v4::bytes : v6::bytes;
  Bytes packet(header_bytes);
  packet[0] = is_v4 ? 0x45 : 0x60;
  store16(&packet[is_v4 ? v4::total_length : v6::payload_length],
          content.size() + (is_v4 ? v4::bytes : 0));
  packet[is_v4 ? v4::protocol : v6::next_header] = protocol;
  packet[is_v4 ? v4::ttl : v6::next_header + 1] = 64;
  const size_t half = is_v4 ? 4 : 16;
  uint8_t* const addresses = &packet[is_v4 ? v4::addresses : v6::addresses];
  std::copy_n(source.ip.begin(), half, addresses);
  std::copy_n(target.ip.begin(), half, addresses + half);
  if (is_v4) store16(&packet[v4::checksum], static_cast<uint16_t>(~sum_of(packet)));
  packet.insert(packet.end(), content.begin(), content.end());
  return packet;
}

inline Bytes frame_of(const MacAddress& target, const MacAddress& source, const Bytes& ip,
                      uint16_t vlan = 0) {
  Bytes frame(target.begin(), target.end());
  frame.insert(frame.end(), source.begin(), source.end());
  if (vlan != 0) {
    frame.insert(frame.end(),
                 {0x81, 0, static_cast<uint8_t>(vlan >> 8), static_cast<uint8_t>(vlan)});
  }
  const uint16_t type = ip[0] >> 4 == 4 ? 0x0800 : 0x86dd;
  frame.insert(frame.end(), {static_cast<uint8_t>(type >> 8), static_cast<uint8_t>(type)});
  frame.insert(frame.end(), ip.begin(), ip.end());
  return frame;
}

/// A port and the far end of its wire, a memif.
struct Wire {
  using Change = std::function<void(FrameLanOptions&)>;
  explicit Wire(const Change& change = [](auto&) {}) {
    start_small_eal();
    const std::string wire = ",bsize=4096,rsize=9,socket-abstract=no,socket=" + own_path("lan");
    auto options = lan_options("net_memif0,role=server" + wire);
    change(options);
    auto made = FrameLanPort::make(dpdk_driver(), options);
    if (!made) throw std::runtime_error(made.error().sentence);
    port = std::move(*made);
    auto device = DpdkDevice::make({.device = "net_memif1,role=client" + wire,
                                    .descriptors = 256,
                                    .ip_bytes_max = 2000,
                                    .packet_bytes = 2000,
                                    .packets = 512});
    if (!device) throw std::runtime_error(device.error().sentence);
    far = std::move(*device);
    const Instant start = clock_now();
    while (!(port->status().device.is_link_up && far->is_link_up()) &&
           clock_now() - start < patience) {
      turn();
      usleep(1000);
    }
  }
  ~Wire() {
    port->give_back(taken);
    std::filesystem::remove(own_path("lan"));
  }

  /// What the port has for the gateway, and what it has put on the wire, since the last turn.
  void turn() {
    std::array<Packet*, limits::burst_packets_max> burst;
    const size_t came = port->rx_burst(burst, clock_now());
    taken.insert(taken.end(), burst.begin(), burst.begin() + static_cast<ptrdiff_t>(came));
    const size_t left = far->rx_burst(burst);
    for (size_t i = 0; i < left; ++i) {
      sent.emplace_back(burst[i]->data, burst[i]->data + burst[i]->bytes);
    }
    far->give_back({burst.data(), left});
  }
  template <class Condition>
  bool turn_until(Condition is_met) {
    const Instant start = clock_now();
    while (!is_met()) {
      if (clock_now() - start > patience) return false;
      turn();
    }
    return true;
  }

  void put(const Bytes& frame) {
    Packet* packet = nullptr;
    ASSERT_EQ(far->take_burst({&packet, 1}), 1u);
    ASSERT_LE(frame.size(), packet->bytes_max);
    std::ranges::copy(frame, packet->data);
    packet->bytes = static_cast<uint32_t>(frame.size());
    ASSERT_EQ(far->tx_burst({&packet, 1}), 1u);
  }
  /// Puts it on the wire behind an honest packet, whose arrival shows that it has been dealt with.
  void put_and_pass(const Bytes& frame) {
    const size_t before = taken.size();
    put(frame);
    put(frame_of(mac(), other_mac, ip_packet(host("10.1.0.200"), host("10.2.0.1"), {42})));
    ASSERT_TRUE(turn_until([&] { return taken.size() > before; }));
  }
  /// From the gateway to a host.
  bool send(const Bytes& ip) {
    Packet* packet = nullptr;
    if (port->take_burst({&packet, 1}) != 1) return false;
    std::ranges::copy(ip, packet->data);
    packet->bytes = static_cast<uint32_t>(ip.size());
    return port->tx_burst({&packet, 1}, clock_now()) == 1;
  }
  Bytes taken_bytes(size_t i) const { return {taken[i]->data, taken[i]->data + taken[i]->bytes}; }
  MacAddress mac() const { return port->status().device.mac; }
  FrameLanStatus status() const { return port->status(); }

  std::unique_ptr<FrameLanPort> port;
  std::unique_ptr<DpdkDevice> far;
  std::vector<Packet*> taken;
  std::vector<Bytes> sent;
};

}  // namespace cw::test
