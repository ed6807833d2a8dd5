#include "dataplane/port/sim/fabric/way/routes.h"

#include <algorithm>

#include "dataplane/base/assert.h"

namespace cw {

uint32_t fabric_flow(uint16_t source, uint16_t target, uint16_t path) {
  uint64_t mixed = (uint64_t{source} << 32 | uint64_t{target} << 16 | path) + 1;
  mixed *= 0xbf58476d1ce4e5b9;
  return static_cast<uint32_t>((mixed ^ mixed >> 32) * 0x94d049bb133111eb >> 32);
}

std::vector<uint16_t> distances_to(const Topology& topology, const std::vector<uint16_t>& targets) {
  std::vector<uint16_t> distances(topology.switch_count(), UINT16_MAX);
  for (const uint16_t target : targets) distances[target] = 0;
  std::vector<uint16_t> row = targets;
  for (size_t i = 0; i < row.size(); ++i) {
    for (const uint32_t link : topology.links_from(FabricNode::at_switch(row[i]))) {
      const FabricNode next = topology.links()[link].target;
      if (!next.is_switch || distances[next.number] != UINT16_MAX) continue;
      distances[next.number] = static_cast<uint16_t>(distances[row[i]] + 1);
      row.push_back(next.number);
    }
  }
  return distances;
}

FabricRoutes::FabricRoutes(const Topology& topology, Prng prng)
    : edges_of_hosts_(topology.host_count()), salts_(topology.switch_count()) {
  for (uint32_t& salt : salts_) salt = static_cast<uint32_t>(prng.next());
  for (const Topology::Link& link : topology.links()) ends_.push_back(link.target.number);
  const std::vector<uint16_t> edges = find_edges(topology);
  edge_count_ = edges.size();
  choices_.resize(topology.switch_count() * edge_count_);
  for (size_t i = 0; i < edges.size(); ++i) find_choices(topology, edges[i], i);
}

std::vector<uint16_t> FabricRoutes::find_edges(const Topology& topology) {
  constexpr uint16_t none = UINT16_MAX;
  std::vector<uint16_t> edges, indices(topology.switch_count(), none);
  for (uint16_t host = 0; host < topology.host_count(); ++host) {
    const uint32_t link = topology.links_from(FabricNode::host(host)).front();
    const uint16_t at_switch = topology.links()[link].target.number;
    if (indices[at_switch] == none) {
      indices[at_switch] = static_cast<uint16_t>(edges.size());
      edges.push_back(at_switch);
    }
    edges_of_hosts_[host] = {Topology::back(link), at_switch, indices[at_switch]};
  }
  return edges;
}

void FabricRoutes::find_choices(const Topology& topology, uint16_t edge_switch, size_t index) {
  const std::vector<uint16_t> distances = distances_to(topology, {edge_switch});
  for (uint16_t at = 0; at < topology.switch_count(); ++at) {
    if (at == edge_switch) continue;
    std::vector<uint32_t> links;
    for (const uint32_t link : topology.links_from(FabricNode::at_switch(at))) {
      const FabricNode next = topology.links()[link].target;
      if (next.is_switch && distances[next.number] < distances[at]) links.push_back(link);
    }
    // Upwards a switch has the same choice for most targets; one copy of it stays in the cache.
    Choice& choice = choices_[at * edge_count_ + index];
    const Choice before = index == 0 ? Choice{} : choices_[at * edge_count_ + index - 1];
    choice = {static_cast<uint32_t>(links_.size()), static_cast<uint32_t>(links.size())};
    if (before.count == choice.count &&
        std::equal(links.begin(), links.end(), links_.begin() + before.first)) {
      choice = before;
    } else {
      links_.insert(links_.end(), links.begin(), links.end());
    }
  }
}

std::vector<uint32_t> FabricRoutes::way(uint16_t source, uint16_t target, uint32_t flow) const {
  CW_ASSERT(source != target);
  const Edge& edge = edges_of_hosts_[target];
  std::vector<uint32_t> links{link_from(source)};
  uint16_t at = edges_of_hosts_[source].at_switch;
  while (links.back() != edge.link) {
    links.push_back(next(at, target, flow));
    at = ends_[links.back()];
  }
  return links;
}

}  // namespace cw
