// What a NIC is told of which packets come by which queue (rte_flow): those of a link by the queue
// of its shard, told by addresses and UDP ports, as DPDK 22.11 has no item for a QP. Control
// packets of an RNIC have any source port: a rule without one, behind the others, takes what is
// left.
//
// On mlx5 nothing else comes by our queues at all (flow isolation), and the kernel keeps the rest
// of the interface: ARP, ND, ssh. Other NICs may have no such rules, or too few; then packets
// spread as they do, and shards hand each other what is not theirs.
#pragma once

#include <cstdint>
#include <string>

#include "dataplane/port/frame/path_flow.h"

namespace cw {

/// Asks device `id` for the rule. Returns why not, or nothing. Thread: one; at start.
std::string create_rule(uint16_t id, const PathFlow& flow, uint16_t queue);

/// The same rule as dpdk-testpmd takes it.
std::string rule_text(uint16_t id, const PathFlow& flow, uint16_t queue);

}  // namespace cw
