// A fabric and the few motions that tests make with its hosts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/port/sim/fabric/network.h"

namespace cw::test {

/// What has come to a host.
struct Heard {
  uint16_t host = 0, from = 0, path = 0;
  uint8_t ecn = 0;
  int64_t at_ns = 0;
  std::string text;  // payload elsewhere included

  bool operator==(const Heard&) const = default;
};

struct How {
  uint16_t path = 0;
  uint8_t ecn = 0;
  int64_t at_ns = 0;  // as the pacer stamps it
};

struct Talk {
  explicit Talk(Topology topology, const FabricOptions& options = {})
      : network(std::move(topology), options) {}

  /// False: the NIC has no room.
  bool say(uint16_t host, uint16_t peer, const std::string& text, const How& how = {});
  /// What has arrived at the host by now.
  std::vector<Heard> hear(uint16_t host);
  /// Lets everything arrive, and hears it when it does.
  std::vector<Heard> hear_all();

  FabricNetwork network;
};

std::vector<std::string> texts_of(const std::vector<Heard>& heard);

/// Whether each packet sent, and each copy, has one fate.
bool adds_up(const FabricCounters& c);

/// A hundred bytes take 100 ns of each link and 500 of its length.
inline constexpr CableOptions slow_cable{.rate = Rate::from_gbps(8),
                                         .delay = Duration::from_ns(500)};
inline const std::string hundred_bytes(100, 'x');

/// So many hosts at each of two leaves, with so many spines, of slow cables.
Topology two_leaves(size_t hosts_each = 2, size_t spines = 1, const SwitchOptions& options = {});

}  // namespace cw::test
