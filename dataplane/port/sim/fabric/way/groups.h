// Which links a packet of a multicast group crosses: a tree over the switches that has all members
// at its ends. What comes to a switch of it by one link leaves by all its others, so that a packet
// crosses each link at most once and comes to every member but its sender.
//
// The tree is part of one that hangs from a top switch, another one for each group as long as there
// are others. It is cut where nothing but the top would be above: members of one leaf never see it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "dataplane/port.h"
#include "dataplane/port/sim/fabric/way/topology.h"

namespace cw {

/// Thread: one. Memory of a group: 10 bytes for each switch, 16 for each link of its tree.
class GroupTree {
 public:
  /// `root`, a switch, is at the top; `choice` tells groups of one root apart.
  GroupTree(const Topology& topology, uint16_t root, uint32_t choice);

  /// False: it is a member already. Allocates.
  bool join(const Topology& topology, uint16_t host);
  bool is_member(uint16_t host) const { return is_member_[host]; }
  /// The links out of a switch that are the tree's.
  struct Branch {
    uint32_t link = 0;
    uint32_t next = 0;  // the place of another, or `none`
  };
  static constexpr uint32_t none = UINT32_MAX;
  uint32_t first_branch(uint16_t at_switch) const { return firsts_[at_switch]; }
  const Branch& branch(uint32_t place) const { return branches_[place]; }

 private:
  bool is_on_tree(uint16_t at_switch) const { return firsts_[at_switch] != none; }
  void add_branch(uint16_t at_switch, uint32_t link);
  void reach(const Topology& topology, uint16_t edge);

  std::vector<uint16_t> depths_;   // below the root, of each switch
  std::vector<uint32_t> parents_;  // the link towards it
  std::vector<uint32_t> firsts_;   // branch of each switch
  std::vector<Branch> branches_;
  std::vector<bool> is_member_;
  uint16_t top_ = 0;  // the switch of the tree that is next to the root
};

/// All groups of a fabric, made when somebody first joins. Thread: one.
class FabricGroups {
 public:
  explicit FabricGroups(const Topology& topology);

  /// `number` is group_peer_first or above. False: `host` is a member already. Allocates.
  bool join(const Topology& topology, uint16_t host, uint16_t number);
  /// Null: nobody has joined it.
  const GroupTree* find(uint16_t number) const {
    const size_t index = size_t{number} - group_peer_first;
    return index < trees_.size() ? trees_[index].get() : nullptr;
  }

 private:
  std::vector<uint16_t> roots_;
  std::vector<std::unique_ptr<GroupTree>> trees_;
};

}  // namespace cw
