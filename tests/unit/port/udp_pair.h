// Two UDP ports that are each other's peer, on loopback, and packets for them.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dataplane/port/udp/udp_port.h"
#include "offload/crc32.h"
#include "tests/unit/port/made_packet.h"
#include "tests/unit/port/polling.h"

namespace cw::test {

/// The first of `count` UDP ports in a row that nobody has just now, at this address.
uint16_t free_udp_ports(uint16_t count);

/// For many UDP ports in a row: a loopback address that no other process of tests has, one by
/// `place` from 1 to 3.
std::string own_address(int place);

inline UdpPortOptions udp_options(uint16_t own, uint16_t peers, const char* address) {
  UdpPortOptions options;
  options.address = address;
  options.udp_port = own;
  options.peers = {{.address = address, .udp_port = peers}};
  options.packets = 256;
  options.crc32 = cw_crc32;
  return options;
}

struct UdpPair {
  using Change = std::function<void(UdpPortOptions&)>;
  explicit UdpPair(const char* address = "127.0.0.1", const Change& change = [](auto&) {});

  uint16_t a_port, b_port;  ///< UDP ports
  std::unique_ptr<UdpPort> a, b;
};

/// Reads for half a second in which nothing should come.
std::vector<Packet*> receive_in_vain(Port& port);

}  // namespace cw::test
