// A datacenter's network in memory with a virtual clock: the hosts, switches and cables of a
// Topology, on which real endpoints run by their ports. One seed decides everything.
//
//     FabricNetwork network(*make_fat_tree({.radix = 32, .hosts = 1024}), {.seed = 7});
//     for (;;) {
//       network.run_until(next_deadline);               // or until a host has got something
//       const size_t count = network.take_ready(hosts);
//       for (uint16_t host : hosts.first(count)) turn(host, network.port(host), network.now());
//     }
//
// A packet takes one event a hop: a queue fixes when its last bit has left when it comes
// (queues.h). Multicast copies share the payload, as does whoever receives it. All memory is
// allocated while the network is put together; then everything is single-threaded and allocates
// nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "dataplane/base/memory/ring.h"
#include "dataplane/base/prng.h"
#include "dataplane/base/units.h"
#include "dataplane/port/impair/model.h"
#include "dataplane/port/impair/packet.h"
#include "dataplane/port/sim/fabric/calendar.h"
#include "dataplane/port/sim/fabric/frame.h"
#include "dataplane/port/sim/fabric/port.h"
#include "dataplane/port/sim/fabric/queues.h"
#include "dataplane/port/sim/fabric/way/groups.h"
#include "dataplane/port/sim/fabric/way/routes.h"
#include "dataplane/port/sim/fabric/way/topology.h"
#include "dataplane/port/sim/trace_hash.h"

namespace cw {

/// How a switch chooses among equal links.
enum class FabricBalance : uint8_t {
  Flow,    ///< ECMP: by source, target and path, so that a flow stays in order
  Packet,  ///< spraying: anew for each packet
};

struct FabricOptions {
  uint64_t seed = 1;
  FabricBalance balance = FabricBalance::Flow;
  size_t frames = 65536;  ///< of 256 bytes, under way or waiting at hosts; what finds none is lost
  size_t port_packets = 256;            ///< each host's packets, free or lent
  size_t rx_packets = 1024;             ///< waiting at a host at most
  Bytes nic_queue = Bytes(UINT64_MAX);  ///< waiting at a NIC; what it has no room for is refused
  uint16_t paths = 16;
  uint32_t payload_max = 4096;   ///< PortFacts::payload_max
  uint32_t headers_bytes = 128;  ///< room in a packet besides payload_max
  uint32_t overhead_bytes = 0;   ///< what the layers below add to each packet on the wire

  /// As SimOptions has them.
  bool carry_bytes = true;
  IcrcMode icrc = IcrcMode::Exact;
  PacketKey key = nullptr;
};

/// Every packet sent has one fate, and so has every copy: sent + copies = delivered + dropped +
/// lost
/// + unrouted + no_frame + rx_dropped + rx_damaged + in_flight.
struct FabricCounters {
  uint64_t sent = 0;
  uint64_t copies = 0;     ///< by multicast, and by models that duplicate
  uint64_t delivered = 0;  ///< handed out by rx_burst()
  uint64_t dropped = 0;    ///< no room in a queue
  uint64_t lost = 0;       ///< by links' models
  uint64_t unrouted = 0;   ///< no such host or path, to itself, or to a group as no member or alone
  uint64_t no_frame = 0;   ///< all FabricOptions::frames were under way
  uint64_t rx_dropped = 0;  ///< too many waited at the host
  uint64_t rx_damaged = 0;  ///< failed the receiving port's checks
  uint64_t in_flight = 0;   ///< now, those that wait at hosts included
  uint64_t hops = 0;        ///< admitted to queues, NICs' included
  uint64_t marked = 0;
};

class FabricNetwork {
 public:
  /// `topology` is valid.
  FabricNetwork(Topology topology, const FabricOptions& options);

  const Topology& topology() const { return topology_; }
  const FabricRoutes& routes() const { return routes_; }
  /// It lives as long as the network.
  FabricPort& port(uint16_t host) { return *ports_[host]; }
  /// False: the host is a member already. Allocates.
  bool join(uint16_t host, uint16_t group);

  /// The faults of one link, in place of earlier ones; the rate and queue stay the link's own, and
  /// what they are to do to a packet begins when its last bit leaves. Packets under way keep their
  /// fate. Allocates when the link had none before.
  void set_impairment(uint32_t link, const Impairment& impairment);
  void set_all_impairments(const Impairment& impairment);
  /// Packets for which it is true are lost before their first cable, in place of earlier ones;
  /// null: none. It is asked of each packet that a host sends.
  using Lost = std::function<bool(uint16_t host, const Packet& packet)>;
  void set_lost(Lost lost) { lost_ = std::move(lost); }

  Instant now() const { return now_; }
  /// Moves the clock to `t`; never back.
  void advance_to(Instant t);
  /// Moves the clock to `limit`, or to the first instant at which a host is ready: all that happens
  /// at that instant has happened then. Returns it. Not at all while hosts are ready.
  Instant run_until(Instant limit);
  /// When something next happens, be it only at a switch; never when nothing is on its way.
  Instant next_event() const { return has_due() ? due_[due_first_].at : calendar_.earliest(); }
  /// Takes hosts to which something has come since they were last taken, each once, in the order of
  /// that. A host that leaves something behind is not told of it again (FabricPort::waiting_count).
  size_t take_ready(std::span<uint16_t> hosts);
  bool has_ready() const { return !ready_.is_empty(); }

  /// Cost: linear in the links.
  FabricCounters counters() const;
  FabricLinkCounters counters_of(uint32_t link) const { return queues_.counters_of(link); }
  /// Over the time, link, size and fate of every packet at every queue, the header bytes of every
  /// packet sent, and every delivery.
  uint64_t trace_hash() const { return trace_.value(); }

 private:
  friend class FabricPort;

  // For the ports:
  Instant try_send(uint16_t host, const Packet& packet, Instant now);
  void hand_over(uint32_t frame, Packet& packet);

  bool is_routed(uint16_t host, const Packet& packet) const;
  bool has_due() const { return due_first_ != due_end_; }
  bool try_step(Instant limit);
  void look_ahead(Instant limit);
  void arrive(uint32_t frame);
  void spread(uint32_t frame, const GroupTree& tree, uint16_t at_switch);
  void deliver(uint32_t frame, uint16_t host);
  void put(uint32_t frame, uint32_t link, Instant from);
  void put_copy(uint32_t frame, uint32_t link);
  void judge(uint32_t frame, ImpairmentModel& model, Instant departs);
  uint64_t key_of(uint32_t frame) const;
  void end(uint32_t frame, uint64_t& fate);
  void trace(const FabricHead& head, const FabricPassage& passage);

  Topology topology_;
  FabricOptions options_;
  Prng prng_;
  FabricRoutes routes_;
  FabricGroups groups_;
  FabricFrames frames_;
  Calendar calendar_;  // by their numbers
  FabricQueues queues_;
  Instant now_;
  Duration ahead_;  // what happens now has no effect elsewhere before that
  std::array<Calendar::Due, 64> due_;
  size_t due_first_ = 0, due_end_ = 0;
  std::vector<FabricNode> targets_;                       // [link]
  std::vector<std::unique_ptr<ImpairmentModel>> models_;  // [link], or none; null: a perfect line
  std::vector<std::unique_ptr<FabricPort>> ports_;
  Ring<uint16_t> ready_;
  Lost lost_;
  FabricCounters counters_;
  TraceHash trace_;
};

}  // namespace cw
