// What a process has of a group: the member behind its port, what it counts, and the worker that
// gives it turns. The one way to put a group on a port, real or simulated.
//
//     GroupEnd end(port, options);
//     while (...) end.turn(clock.read());
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dataplane/base/units.h"
#include "dataplane/collective/group.h"
#include "dataplane/core/counters.h"
#include "dataplane/core/turn/worker.h"
#include "dataplane/pass/raw_port.h"
#include "dataplane/wan.h"
#include "offload/mac.h"

namespace cw::group {

struct GroupEndOptions {
  uint16_t rank = 0;
  std::vector<std::string> addresses;  ///< by rank; only compared with those of others
  std::vector<uint16_t> peers;         ///< by rank: what the port calls it
  std::vector<uint16_t> sites;         ///< by rank; empty: all are of one
  uint16_t group_peer = group_peer_first;
  uint16_t site_peer = group_peer_first;  ///< the members of our own site, where there are several
  std::span<const uint8_t> key;           ///< that all share; copied
  RandomSource random;
  Rate rate;
  uint32_t payload_bytes = 0;  ///< of a slot; 0: the largest that the port carries
  uint64_t bytes_max = 0;      ///< of the memory that one operation fills
  uint64_t sum_bytes_max = 0;  ///< of a part that is added up
  Algorithm algorithm = Algorithm::Multicast;
  uint32_t chains = 0;
  Duration deadline = Duration::from_s(30);

  // What networks of a datacenter are like, until it is measured.
  Duration rtt = Duration::from_us(200);
  Duration rtt_far;         ///< to other sites
  Duration recovery_worst;  ///< of the gateways between them
  Duration reorder = Duration::from_us(100);
  Duration horizon = Duration::from_us(50), lag = Duration::from_ms(1);  ///< as DatagramOptions
  uint32_t overhead_bytes = 8 + 14 + 4 + 12 + 20 + 8 + 4;  ///< Ethernet, IPv4, UDP, ICRC
};

/// Thread: one. Nothing allocates after it is made, save the sentence of a failure.
class GroupEnd {
 public:
  /// `port` outlives it; random's state too.
  GroupEnd(AnyWanPort port, const GroupEndOptions& options);
  GroupEnd(const GroupEnd&) = delete;
  GroupEnd& operator=(const GroupEnd&) = delete;

  Group& group() { return group_; }
  const Group& group() const { return group_; }
  WanPort& port() { return port_; }
  const WanPort& port() const { return port_; }
  Worker& worker() { return worker_; }
  const Counters& counters() const { return counters_; }
  const Drops& drops() const { return drops_; }
  bool turn(Instant now) { return worker_.turn(now); }

 private:
  std::unique_ptr<RawPort> raw_;  // where the port moves bytes
  WanPort& port_;
  cw_mac secret_;
  Counters counters_;
  Drops drops_;
  Group group_;
  Worker worker_;  // goes first: it gives packets back
};

}  // namespace cw::group
