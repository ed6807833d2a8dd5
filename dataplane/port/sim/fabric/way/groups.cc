#include "dataplane/port/sim/fabric/way/groups.h"

#include <algorithm>

#include "dataplane/base/assert.h"
#include "dataplane/port/sim/fabric/way/routes.h"

namespace cw {
namespace {

/// Those that are farthest from hosts.
std::vector<uint16_t> top_switches(const Topology& topology) {
  std::vector<uint16_t> edges;
  for (uint16_t host = 0; host < topology.host_count(); ++host) {
    const uint32_t link = topology.links_from(FabricNode::host(host)).front();
    const uint16_t edge = topology.links()[link].target.number;
    if (std::ranges::find(edges, edge) == edges.end()) edges.push_back(edge);
  }
  const std::vector<uint16_t> distances = distances_to(topology, edges);
  const uint16_t farthest = *std::ranges::max_element(distances);
  std::vector<uint16_t> tops;
  for (uint16_t number = 0; number < topology.switch_count(); ++number) {
    if (distances[number] == farthest) tops.push_back(number);
  }
  return tops;
}

}  // namespace

GroupTree::GroupTree(const Topology& topology, uint16_t root, uint32_t choice)
    : depths_(distances_to(topology, {root})),
      parents_(topology.switch_count(), none),
      firsts_(topology.switch_count(), none),
      is_member_(topology.host_count()) {
  for (uint16_t at = 0; at < topology.switch_count(); ++at) {
    std::vector<uint32_t> upward;
    for (const uint32_t link : topology.links_from(FabricNode::at_switch(at))) {
      const FabricNode next = topology.links()[link].target;
      if (next.is_switch && depths_[next.number] < depths_[at]) upward.push_back(link);
    }
    if (!upward.empty()) parents_[at] = upward[choice % upward.size()];
  }
}

bool GroupTree::join(const Topology& topology, uint16_t host) {
  CW_ASSERT(host < is_member_.size());
  if (is_member_[host]) return false;
  is_member_[host] = true;
  const uint32_t up = topology.links_from(FabricNode::host(host)).front();
  const uint16_t edge = topology.links()[up].target.number;
  if (branches_.empty()) top_ = edge;
  if (!is_on_tree(edge)) reach(topology, edge);
  add_branch(edge, Topology::back(up));
  return true;
}

/// The new leaf and the tree's top climb, whoever is lower, until they meet: there, or where the
/// leaf comes upon the tree.
void GroupTree::reach(const Topology& topology, uint16_t edge) {
  uint16_t from = edge;
  while (from != top_) {
    uint16_t& lower = depths_[from] > depths_[top_] ? from : top_;
    const uint32_t up = parents_[lower];
    const uint16_t parent = topology.links()[up].target.number;
    const bool is_met = is_on_tree(parent);
    add_branch(lower, up);
    add_branch(parent, Topology::back(up));
    lower = parent;
    if (is_met) return;
  }
}

void GroupTree::add_branch(uint16_t at_switch, uint32_t link) {
  branches_.push_back({link, firsts_[at_switch]});
  firsts_[at_switch] = static_cast<uint32_t>(branches_.size() - 1);
}

FabricGroups::FabricGroups(const Topology& topology) : roots_(top_switches(topology)) {}

bool FabricGroups::join(const Topology& topology, uint16_t host, uint16_t number) {
  CW_ASSERT(number >= group_peer_first);
  const size_t index = size_t{number} - group_peer_first;
  if (trees_.size() <= index) trees_.resize(index + 1);
  if (trees_[index] == nullptr) {
    trees_[index] = std::make_unique<GroupTree>(topology, roots_[index % roots_.size()],
                                                static_cast<uint32_t>(index / roots_.size()));
  }
  return trees_[index]->join(topology, host);
}

}  // namespace cw
