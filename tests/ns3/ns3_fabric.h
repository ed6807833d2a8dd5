// A fabric of ours as ns-3 has it: nodes, point-to-point devices with drop-tail queues, IPv4 with
// static routes, UDP. Nothing of ns-3 is seen from outside.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "dataplane/port/sim/fabric/way/routes.h"
#include "dataplane/port/sim/fabric/way/topology.h"

namespace cw::test {

/// What one host sends another, and when. Its place in the row is its name.
struct Datagram {
  int64_t at_ns = 0;
  uint16_t source = 0, target = 0;  // hosts; a target has one source
  uint32_t bytes = 0;               // of UDP's payload, 8 at least

  bool operator==(const Datagram&) const = default;
};

/// UDP, IPv4 and PPP, as ns-3 writes them.
inline constexpr uint32_t ns3_overhead_bytes = 8 + 20 + 2;

struct Ns3Outcome {
  std::map<size_t, int64_t> arrivals;  // of datagrams at their hosts, in nanoseconds
  std::map<uint32_t, uint64_t> drops;  // at queues in front of our links of these numbers
  /// Times that two packets came to a queue at once, or one when another left it. Who is first then
  /// is nobody's promise, ns-3's as little as ours.
  size_t ties = 0;
};

/// Sends `datagrams`, which are in the order of their instants, and waits for the last. Every queue
/// but those of hosts holds `limit`; routes are those that `routes` gives flows of path 0.
Ns3Outcome run_in_ns3(const Topology& topology, const FabricRoutes& routes, Bytes limit,
                      const std::vector<Datagram>& datagrams);

}  // namespace cw::test
