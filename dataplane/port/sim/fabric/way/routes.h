// Which link a packet leaves a switch by: one of those on a shortest way to its host, chosen by the
// flow. Each switch chooses by a salt of its own, or all packets that one switch sends the same way
// would be sent the same way by the next.
#pragma once

#include <cstdint>
#include <vector>

#include "dataplane/base/prng.h"
#include "dataplane/port/sim/fabric/way/topology.h"

namespace cw {

/// What a flow is known by at every switch on its way. `path` is the entropy of its source port.
uint32_t fabric_flow(uint16_t source, uint16_t target, uint16_t path);

/// Thread: one. Memory: 8 bytes for each switch and each switch with hosts; nothing once it is
/// made.
class FabricRoutes {
 public:
  /// `topology` is valid.
  FabricRoutes(const Topology& topology, Prng prng);

  /// The link by which `at_switch` sends on what goes to `host`. Cost: hot, constant.
  uint32_t next(uint16_t at_switch, uint16_t host, uint32_t flow) const {
    const Edge edge = edges_of_hosts_[host];
    if (edge.at_switch == at_switch) return edge.link;
    const Choice choice = choices_[size_t{at_switch} * edge_count_ + edge.index];
    if (choice.count == 1) return links_[choice.first];
    return links_[choice.first + pick(flow ^ salts_[at_switch], choice.count)];
  }
  /// The links from one host to another, that of the NIC first.
  std::vector<uint32_t> way(uint16_t source, uint16_t target, uint32_t flow) const;
  uint32_t link_from(uint16_t host) const { return Topology::back(edges_of_hosts_[host].link); }

 private:
  struct Edge {
    uint32_t link = 0;  // to the host
    uint16_t at_switch = 0;
    uint16_t index = 0;  // of this switch among those with hosts
  };
  struct Choice {
    uint32_t first = 0, count = 0;  // of links_
  };
  static uint32_t pick(uint32_t flow, uint32_t count) {
    const uint64_t mixed = flow * 0x9e3779b97f4a7c15;
    const uint64_t high = (mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9 >> 32;
    return static_cast<uint32_t>(high * count >> 32);
  }
  std::vector<uint16_t> find_edges(const Topology& topology);
  void find_choices(const Topology& topology, uint16_t edge_switch, size_t index);

  size_t edge_count_ = 0;
  std::vector<Edge> edges_of_hosts_;
  std::vector<Choice> choices_;  // [switch * edge_count_ + edge]
  std::vector<uint32_t> links_;
  std::vector<uint32_t> salts_;
  std::vector<uint16_t> ends_;  // [link]: at which switch, or host
};

/// How many links each switch is away from the nearest of `targets`.
std::vector<uint16_t> distances_to(const Topology& topology, const std::vector<uint16_t>& targets);

}  // namespace cw
