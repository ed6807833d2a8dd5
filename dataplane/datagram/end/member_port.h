// What a process has of any group, whatever its members do together: the port, what it counts, its
// secret, and who it is there.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dataplane/base/units.h"
#include "dataplane/core/counters.h"
#include "dataplane/datagram/datagram_endpoint.h"
#include "dataplane/pass/raw_port.h"
#include "dataplane/wan.h"
#include "offload/mac.h"

namespace cw::group {

struct MemberOptions {
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

  // What networks of a datacenter are like, until it is measured.
  Duration rtt = Duration::from_us(200);
  Duration rtt_far;  ///< to other sites
  Duration reorder = Duration::from_us(100);
  Duration horizon = Duration::from_us(50), lag = Duration::from_ms(1);  ///< as DatagramOptions
  uint32_t overhead_bytes = 8 + 14 + 4 + 12 + 20 + 8 + 4;  ///< Ethernet, IPv4, UDP, ICRC
};

/// Thread: one. Allocates when made.
class MemberPort {
 public:
  /// `port` outlives it.
  MemberPort(AnyWanPort port, std::span<const uint8_t> key);
  MemberPort(const MemberPort&) = delete;
  MemberPort& operator=(const MemberPort&) = delete;

  WanPort& port() { return port_; }
  const WanPort& port() const { return port_; }
  Counters& counters() { return counters_; }
  const Counters& counters() const { return counters_; }
  Drops& drops() { return drops_; }
  const Drops& drops() const { return drops_; }

  /// What follows from them for the endpoint; the secret stays here, random's state the caller's.
  DatagramOptions datagrams(const MemberOptions& options) const;

 private:
  std::unique_ptr<RawPort> raw_;  // where the port moves bytes
  WanPort& port_;
  cw_mac secret_;
  Counters counters_;
  Drops drops_;
};

/// All of them, to be compared.
std::string joined(const std::vector<std::string>& addresses);

}  // namespace cw::group
