// A network in memory with a virtual clock: ports, and between them links, each one direction of
// one path with an impairment of its own. One seed decides everything that happens in it.
//
//     SimNetwork network({.seed = 7});
//     SimPort& a = network.add_port();
//     SimPort& b = network.add_port();
//     network.join(a, b, {.delay = 12_ms, .loss = 0.01});      // both directions
//     network.set_impairment(b, {.peer = 0}, {.delay = 20_ms}); // the way back is another one
//
// A sent packet is judged at once by its link's model (port/impair), and waits with its arrival
// time until the receiving port is polled at or after it. Between polls, whoever drives the
// simulation moves the clock to next_event() or to a deadline of its own. All memory is allocated
// while the network is put together; then everything is single-threaded and allocates nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "dataplane/base/prng.h"
#include "dataplane/base/units.h"
#include "dataplane/port/impair/model.h"
#include "dataplane/port/impair/packet.h"
#include "dataplane/port/sim/frame.h"
#include "dataplane/port/sim/sim_port.h"
#include "dataplane/port/sim/trace_hash.h"

namespace cw {

struct SimOptions {
  uint64_t seed = 1;
  uint16_t paths = 1;            ///< between two ports that are joined
  size_t port_packets = 4096;    ///< each port's packets, free or lent
  size_t wire_packets = 16384;   ///< under way in the whole network at most; more are lost
  uint32_t payload_max = 4096;   ///< PortFacts::payload_max
  uint32_t headers_bytes = 128;  ///< room in a packet besides payload_max
  uint32_t overhead_bytes = 0;   ///< what the layers below add to each packet, for rates and MTU

  /// True: an external payload is copied when sent; whoever lent it may change it at once. False
  /// (for speed): the receiver gets the sender's own pointer, so those bytes must stay as they are
  /// until no packet that names them is under way.
  bool carry_bytes = true;

  /// None: damaged packets are delivered with the flipped bit. Otherwise the receiving port finds
  /// them out (rx_malformed). A bit of an external payload that is not carried cannot be flipped:
  /// such a packet is always found out.
  IcrcMode icrc = IcrcMode::Exact;

  PacketKey key = nullptr;  ///< for Impairment::targeted
};

/// A route as its sender names it.
struct SimRoute {
  uint16_t peer = 0;
  uint16_t path = 0;
};

/// The number under which each of two joined ports knows the other.
struct SimPeers {
  uint16_t of_first = 0;   ///< the second port's number at the first
  uint16_t of_second = 0;  ///< the first port's number at the second
};

/// One direction of one path.
struct SimLink {
  ImpairmentModel model;
  SimPort* target;
  size_t lane;           // at the target
  uint16_t source_peer;  // the sender's number at the target
  uint16_t path;
  uint32_t id;
};

/// Every packet sent has one fate:
/// sent + extra_copies = delivered + lost + unrouted + wire_full + rx_no_packet + rx_damaged +
/// in_flight.
struct SimCounters {
  uint64_t sent = 0;
  uint64_t extra_copies = 0;
  uint64_t delivered = 0;     ///< handed out by rx_burst()
  uint64_t lost = 0;          ///< by the links' models
  uint64_t unrouted = 0;      ///< no such peer or path
  uint64_t wire_full = 0;     ///< more under way than SimOptions::wire_packets
  uint64_t rx_no_packet = 0;  ///< the receiving port had no free packet
  uint64_t rx_damaged = 0;    ///< failed the receiving port's checks
  uint64_t in_flight = 0;     ///< now
};

class SimNetwork {
 public:
  explicit SimNetwork(const SimOptions& options);

  /// The port lives as long as the network.
  SimPort& add_port();
  /// Joins two ports by all their paths, in both directions. Before the first packet is sent.
  SimPeers join(SimPort& first, SimPort& second, const Impairment& each_way = {});
  /// Changes one direction of one path, also while packets are under way; those keep their fate.
  void set_impairment(SimPort& source, SimRoute route, const Impairment& impairment);
  /// The same for every link: how faults end, or begin.
  void set_all_impairments(const Impairment& impairment);

  Instant now() const { return now_; }
  /// Moves the clock; never back.
  void advance_to(Instant t);
  /// When some port next has something to receive (it may be past already); never when all is
  /// quiet.
  Instant next_event() const;

  SimCounters counters() const;
  const ImpairmentCounters& counters_of(SimPort& source, SimRoute route) const;
  /// Over the time, link, size, header bytes and verdict of every packet, and every delivery.
  uint64_t trace_hash() const { return trace_.value(); }

 private:
  friend class SimPort;

  void add_link(SimPort& source, uint16_t target_peer, SimPort& target, uint16_t source_peer,
                const Impairment& impairment);
  SimLink& link_of(SimPort& source, SimRoute route) const;

  // For the ports:
  void carry(SimLink* link, SimFrame& frame, Instant now);
  void carry_off(SimLink& link, SimFrame& frame, const Verdict& verdict);
  void launch(SimLink& link, SimFrame& frame, Instant at, bool is_final_copy);
  void trace(const SimLink& link, const Packet& packet, Instant now, const Verdict& verdict);

  SimOptions options_;
  Prng prng_;
  Instant now_;
  FramePool wire_;
  FramePool copies_;  // one: of a packet that its sender keeps, on its way to the wire
  std::vector<std::unique_ptr<SimPort>> ports_;
  std::vector<std::unique_ptr<SimLink>> links_;
  SimCounters counters_;
  TraceHash trace_;
  uint64_t order_ = 0;
};

}  // namespace cw
