#include "dataplane/port/sim/fabric/way/topology.h"

#include <algorithm>
#include <string>

#include "dataplane/base/assert.h"

namespace cw {
namespace {

const std::vector<uint32_t>& row_of(FabricNode node,
                                    const std::vector<std::vector<uint32_t>>& hosts,
                                    const std::vector<std::vector<uint32_t>>& switches) {
  const auto& rows = node.is_switch ? switches : hosts;
  CW_ASSERT(node.number < rows.size());
  return rows[node.number];
}

/// How many top switches take `up` cables from each of `lowers` below them, one after the other.
size_t top_count(size_t lowers, size_t up, size_t radix) {
  if (lowers < 2) return 0;
  size_t tops = 1;
  while ((up + tops - 1) / tops * lowers > radix) ++tops;
  return tops;
}

std::vector<uint16_t> add_switches(Topology& topology, size_t count, const SwitchOptions& options) {
  std::vector<uint16_t> numbers(count);
  for (uint16_t& number : numbers) number = topology.add_switch(options);
  return numbers;
}

/// From each lower one, its cables to the tops one after the other.
void join_levels(Topology& topology, const std::vector<uint16_t>& lowers,
                 const std::vector<uint16_t>& tops, size_t cables, const CableOptions& cable) {
  if (tops.empty()) return;
  for (const uint16_t lower : lowers) {
    for (size_t i = 0; i < cables; ++i) {
      topology.join(FabricNode::at_switch(lower), FabricNode::at_switch(tops[i % tops.size()]),
                    cable);
    }
  }
}

void add_host_at(Topology& topology, uint16_t leaf, const CableOptions& cable) {
  topology.join(FabricNode::host(topology.add_host()), FabricNode::at_switch(leaf), cable);
}

Result<void> check_hosts(size_t hosts, size_t most) {
  most = std::min(most, fabric_hosts_max);
  if (hosts >= 1 && hosts <= most) return {};
  return failure("hosts is " + std::to_string(hosts) + "; 1 to " + std::to_string(most) +
                 " are accepted");
}

Result<void> check_switches(size_t count) {
  if (count <= fabric_switches_max) return {};
  return failure("so many hosts take " + std::to_string(count) + " switches; " +
                 std::to_string(fabric_switches_max) + " are the most");
}

Result<Topology> checked(Topology topology) {
  if (const auto is_valid = validate(topology); !is_valid)
    return failure(is_valid.error().sentence);
  return topology;
}

/// Which switches the first one reaches.
std::vector<bool> reached_from_first(const Topology& topology) {
  std::vector<bool> reached(topology.switch_count());
  std::vector<uint16_t> row{0};
  reached[0] = true;
  for (size_t i = 0; i < row.size(); ++i) {
    for (const uint32_t link : topology.links_from(FabricNode::at_switch(row[i]))) {
      const FabricNode next = topology.links()[link].target;
      if (!next.is_switch || reached[next.number]) continue;
      reached[next.number] = true;
      row.push_back(next.number);
    }
  }
  return reached;
}

std::string fault_of_host(const Topology& topology, uint16_t host) {
  const auto& links = topology.links_from(FabricNode::host(host));
  const std::string name = "host " + std::to_string(host);
  if (links.size() != 1) {
    return name + " has " + std::to_string(links.size()) + " cables; a host has one, to a switch";
  }
  const FabricNode target = topology.links()[links[0]].target;
  if (target.is_switch) return "";
  return name + " is joined to host " + std::to_string(target.number) +
         "; a host has one cable, to a switch";
}

std::string fault_of_switch(const Topology& topology, uint16_t number) {
  const SwitchOptions& options = topology.options_of(number);
  if (options.buffer == Bytes(UINT64_MAX) || options.alpha > 0) return "";
  return "switch " + std::to_string(number) + " shares a buffer by alpha " +
         std::to_string(options.alpha) + "; it must be above 0";
}

}  // namespace

uint16_t Topology::add_host() {
  CW_ASSERT(host_count() < fabric_hosts_max);
  links_of_hosts_.emplace_back();
  return static_cast<uint16_t>(host_count() - 1);
}

uint16_t Topology::add_switch(const SwitchOptions& options) {
  CW_ASSERT(switch_count() < fabric_switches_max);
  switches_.push_back(options);
  links_of_switches_.emplace_back();
  return static_cast<uint16_t>(switch_count() - 1);
}

uint32_t Topology::join(FabricNode a, FabricNode b, const CableOptions& cable) {
  CW_ASSERT(a != b);
  const auto first = static_cast<uint32_t>(links_.size());
  const auto add = [&](FabricNode source, FabricNode target) {
    auto& rows = source.is_switch ? links_of_switches_ : links_of_hosts_;
    CW_ASSERT(source.number < rows.size());
    rows[source.number].push_back(static_cast<uint32_t>(links_.size()));
    links_.push_back({source, target, cable});
  };
  add(a, b);
  add(b, a);
  return first;
}

const std::vector<uint32_t>& Topology::links_from(FabricNode node) const {
  return row_of(node, links_of_hosts_, links_of_switches_);
}

std::optional<uint32_t> Topology::find_link(FabricNode source, FabricNode target) const {
  for (const uint32_t link : links_from(source)) {
    if (links_[link].target == target) return link;
  }
  return std::nullopt;
}

Result<void> validate(const Topology& topology) {
  if (topology.host_count() == 0) return failure("a fabric has at least one host");
  for (uint16_t host = 0; host < topology.host_count(); ++host) {
    if (const std::string fault = fault_of_host(topology, host); !fault.empty()) {
      return failure(fault);
    }
  }
  const std::vector<bool> reached = reached_from_first(topology);
  for (uint16_t number = 0; number < topology.switch_count(); ++number) {
    if (!reached[number]) {
      return failure("switch " + std::to_string(number) + " is not reached from switch 0");
    }
    if (const std::string fault = fault_of_switch(topology, number); !fault.empty()) {
      return failure(fault);
    }
  }
  for (const Topology::Link& link : topology.links()) {
    if (link.cable.rate == Rate()) return failure("a cable has rate 0; it must be above 0");
    if (link.cable.delay < Duration()) return failure("a cable has a negative delay");
  }
  return {};
}

Result<Topology> make_leaf_spine(const LeafSpine& shape) {
  if (const auto is_fine = check_hosts(shape.hosts, fabric_hosts_max); !is_fine) {
    return failure(is_fine.error().sentence);
  }
  if (shape.leaves == 0 || shape.leaves > shape.hosts) {
    return failure("leaves is " + std::to_string(shape.leaves) + "; 1 to the hosts, " +
                   std::to_string(shape.hosts) + ", are accepted");
  }
  if (shape.leaves > 1 && (shape.spines == 0 || shape.cables == 0)) {
    return failure("spines and cables must be above 0 where there are several leaves");
  }
  if (const auto is_fine = check_switches(shape.leaves + shape.spines); !is_fine) {
    return failure(is_fine.error().sentence);
  }
  Topology topology;
  const auto leaves = add_switches(topology, shape.leaves, shape.leaf);
  const auto spines = add_switches(topology, shape.leaves > 1 ? shape.spines : 0, shape.spine);
  join_levels(topology, leaves, spines, shape.cables * spines.size(), shape.spine_cable);
  for (size_t host = 0; host < shape.hosts; ++host) {
    add_host_at(topology, leaves[host * shape.leaves / shape.hosts], shape.host_cable);
  }
  return checked(std::move(topology));
}

Result<Topology> make_fat_tree(const FatTree& shape) {
  if (shape.radix < 2 || shape.radix > 256 || shape.radix % 2 != 0) {
    return failure("radix is " + std::to_string(shape.radix) +
                   "; even numbers from 2 to 256 are accepted");
  }
  const size_t down = shape.radix / 2;
  if (const auto is_fine = check_hosts(shape.hosts, 2 * down * down * down); !is_fine) {
    return failure(is_fine.error().sentence);
  }
  const bool has_pods = shape.hosts > 2 * down * down;
  const size_t edge_count = (shape.hosts + down - 1) / down;
  Topology topology;
  const auto edges = add_switches(topology, edge_count, shape.each);
  if (!has_pods) {
    const auto tops = add_switches(topology, top_count(edge_count, down, shape.radix), shape.each);
    join_levels(topology, edges, tops, down, shape.cable);
  } else {
    const size_t pods = (edge_count + down - 1) / down;
    std::vector<std::vector<uint16_t>> planes(down);  // the middle switches at the same tops
    for (size_t pod = 0; pod < pods; ++pod) {
      const size_t first = pod * down, end = std::min(first + down, edge_count);
      const auto middle = add_switches(topology, down, shape.each);
      join_levels(topology, {edges.begin() + ptrdiff_t(first), edges.begin() + ptrdiff_t(end)},
                  middle, down, shape.cable);
      for (size_t i = 0; i < down; ++i) planes[i].push_back(middle[i]);
    }
    for (const auto& plane : planes) {
      const auto tops = add_switches(topology, top_count(pods, down, shape.radix), shape.each);
      join_levels(topology, plane, tops, down, shape.cable);
    }
  }
  for (size_t host = 0; host < shape.hosts; ++host) {
    add_host_at(topology, edges[host / down], shape.cable);
  }
  return checked(std::move(topology));
}

}  // namespace cw
