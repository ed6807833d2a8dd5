// What live keys come to: what a shard takes between two turns, and how far they may go in the
// memory that a site was started with.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "control/gateway/plan.h"
#include "dataplane/base/result.h"
#include "dataplane/gateway/gateway.h"
#include "dataplane/port/impair/impairment.h"
#include "dataplane/port/udp/udp_port.h"
#include "dataplane/sdr/options.h"

namespace cw::site {

/// Made by whoever changes, taken by a shard's worker, freed where it was made.
struct ShardChange {
  /// So that a turn has 20 us of it at most: 5 to 10 us with four classes.
  static constexpr size_t links_per_turn = 16;

  gateway::GatewayChange gateway;
  std::vector<sdr::LinkChange> links;  ///< by the port's number for the peer
  std::optional<UdpPeerTable> peers;   ///< of a WAN port over sockets
  Impairment impairment;               ///< of what leaves, where the site has such a port
};
/// Of a plan of the same places for peers and the same classes as that by which the site runs;
/// `lan_mtu` is its LAN port's, `wan` its WAN port, where that is over sockets. Errors: those of
/// the gateway's options, and of the port's.
Result<ShardChange> shard_change_of(const Plan& plan, const Plan& running, size_t shard,
                                    uint32_t lan_mtu, const UdpPort* wan);

/// What memory was sized for. No live key goes further.
struct LiveBounds {
  Rate to_peer;                            ///< pair.rate
  Rate of_wan;                             ///< to all peers together
  std::vector<Rate> started;               ///< by peer: what it was sent at, should that be more
  std::vector<Duration> holds;             ///< by class
  std::vector<sdr::StreamConfig> streams;  ///< likewise: what messages have room for
  /// The LAN's port is over DPDK and has joined these; nothing: joining is others' business.
  std::optional<std::vector<HostAddress>> joined;
  std::optional<size_t> impaired;  ///< packets that may be delayed; nothing: no such port

  static LiveBounds of(const Plan& plan);
};

/// A key, or all that begin with it and a dot, that a plan would take too far, and why.
struct Beyond {
  std::string key, why;
  /// Links in the place of those that carry would have the memory, so far as misfits() allow.
  bool goes_by_relink = false;
};
std::vector<Beyond> beyond(const LiveBounds& bounds, const Plan& next);

/// Cuts holds that follow from other keys than their own.
void keep_within(const LiveBounds& bounds, Plan& next);
/// What live keys say in `next`, into the plan of a site that runs by them now.
void take_live(const Plan& next, Plan& running);

}  // namespace cw::site
