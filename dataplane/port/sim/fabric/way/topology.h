// What a fabric is made of: hosts, switches, and cables between them. A description; whoever wants
// another shape than the two that are made here puts it together himself.
//
//     Topology topology;
//     const uint16_t leaf = topology.add_switch({.port_limit = 256_KiB});
//     for (int i = 0; i < 4; ++i) {
//       topology.join(FabricNode::host(topology.add_host()), FabricNode::at_switch(leaf), {});
//     }
//
// A cable is two links, one each way; that of a link's other way is its number with the lowest bit
// turned over. Hosts and switches are numbered from 0, in the order of adding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/base/units.h"

namespace cw {

inline constexpr size_t fabric_hosts_max = 16'384;
inline constexpr size_t fabric_switches_max = 32'768;

struct CableOptions {
  Rate rate = Rate::from_gbps(100);         ///< each way
  Duration delay = Duration::from_ns(500);  ///< last bit sent to last bit there
  auto operator<=>(const CableOptions&) const = default;
};

/// A switch stores and forwards: each port has one queue, in which a packet counts from when it has
/// come until its last bit has left. One that finds no room is dropped.
struct SwitchOptions {
  Bytes port_limit = Bytes(UINT64_MAX);  ///< of each port's queue, the new packet included
  Bytes buffer = Bytes(UINT64_MAX);      ///< of all ports together; as it stands: none is shared
  double alpha = 1;  ///< of a shared buffer: a port's limit is alpha times what is free of it
  Bytes mark_above = Bytes(UINT64_MAX);  ///< ECN: the queue that a packet meets, itself included
  bool counts_sending = true;            ///< false: a packet leaves the queue with its first bit
};

struct FabricNode {
  bool is_switch = false;
  uint16_t number = 0;

  static constexpr FabricNode host(uint16_t number) { return {false, number}; }
  static constexpr FabricNode at_switch(uint16_t number) { return {true, number}; }
  bool operator==(const FabricNode&) const = default;
};

class Topology {
 public:
  struct Link {
    FabricNode source, target;
    CableOptions cable;
  };

  /// Its number; the limits above are the caller's to keep.
  uint16_t add_host();
  uint16_t add_switch(const SwitchOptions& options = {});
  /// The link from `a` to `b`, both of which are there.
  uint32_t join(FabricNode a, FabricNode b, const CableOptions& cable);

  uint16_t host_count() const { return static_cast<uint16_t>(links_of_hosts_.size()); }
  uint16_t switch_count() const { return static_cast<uint16_t>(switches_.size()); }
  const std::vector<Link>& links() const { return links_; }
  const SwitchOptions& options_of(uint16_t number) const { return switches_[number]; }
  /// The links that begin there, in the order of joining.
  const std::vector<uint32_t>& links_from(FabricNode node) const;
  /// The first of them that ends at `target`.
  std::optional<uint32_t> find_link(FabricNode source, FabricNode target) const;

  static uint32_t back(uint32_t link) { return link ^ 1; }

 private:
  std::vector<SwitchOptions> switches_;
  std::vector<Link> links_;
  std::vector<std::vector<uint32_t>> links_of_hosts_, links_of_switches_;
};

/// Refuses with a sentence what packets could not cross: a host without a switch or with two
/// cables, a switch that others do not reach, a rate of zero, a buffer without alpha.
Result<void> validate(const Topology& topology);

/// Two levels. Each leaf has as many cables to each spine; hosts lie at leaves in rows of their
/// numbers, as evenly as can be. Switches: leaves first.
struct LeafSpine {
  size_t hosts = 188;
  size_t leaves = 12;
  size_t spines = 6;
  size_t cables = 1;  ///< from each leaf to each spine
  CableOptions host_cable = {};
  CableOptions spine_cable = {};
  SwitchOptions leaf = {};
  SwitchOptions spine = {};
};
Result<Topology> make_leaf_spine(const LeafSpine& shape);

/// The smallest tree of switches with so many ports in which as many cables go up from each switch
/// as down: two levels up to radix^2 / 2 hosts, else three, up to radix^3 / 4. Hosts fill the
/// lowest switches in the order of their numbers. Where fewer top switches are enough, several
/// cables go to each. Switches: those of hosts first, then, pod by pod, the middle, then the top.
struct FatTree {
  size_t radix = 32;  ///< even
  size_t hosts = 1024;
  CableOptions cable = {};
  SwitchOptions each = {};
};
Result<Topology> make_fat_tree(const FatTree& shape);

}  // namespace cw
