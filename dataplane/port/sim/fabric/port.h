// A host's port on a fabric: its NIC.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/port.h"
#include "dataplane/port/done_row.h"
#include "dataplane/port/sim/fabric/frame.h"
#include "dataplane/port/sim/frame.h"

namespace cw {

class FabricNetwork;
struct FabricOptions;

/// Made by FabricNetwork. The instants that it is given are those of the network's clock.
///
/// Peers are hosts, by their numbers; from group_peer_first on they are multicast groups, to
/// which members send. A path is the entropy of the source port. Received packets name their sender
/// and its path.
///
/// tx_burst() takes what the NIC's queue has room for; next_due() is when more may be tried. What
/// arrives while `rx_packets` wait here is lost (rx_dropped).
class FabricPort final : public Port {
 public:
  FabricPort(FabricNetwork& network, const FabricOptions& options, uint16_t host, uint16_t hosts);

  const PortFacts& facts() const override { return facts_; }
  PortCounters counters() const override { return counters_; }
  size_t rx_burst(std::span<Packet*> out, Instant now) override;
  size_t tx_burst(std::span<Packet* const> packets, Instant now) override;
  size_t take_burst(std::span<Packet*> out) override;
  size_t take_done(std::span<uint64_t> out) override;
  void give_back(std::span<Packet* const> packets) override;
  Instant next_due() const override { return room_at_; }

  /// Makes this host a member of a group; false: it is one. Not while packets are to cross without
  /// an allocation.
  bool join(uint16_t group);

  uint16_t host() const { return host_; }
  /// Packets that have arrived and wait for rx_burst().
  size_t waiting_count() const { return waiting_count_; }
  /// Packets that the port's user holds; the rest of the set is free.
  size_t lent_count() const { return frames_.lent_count(); }

 private:
  friend class FabricNetwork;

  void prefetch() const { __builtin_prefetch(&waiting_, 1); }
  void release(SimFrame& frame);
  bool try_arrive(FabricFrames& frames, uint32_t frame);

  FabricNetwork& network_;
  PortFacts facts_;
  PortCounters counters_;
  FramePool frames_;
  DoneRow done_;
  FrameRow waiting_;
  size_t waiting_count_ = 0, waiting_max_;
  Instant room_at_ = Instant::never();
  uint16_t host_;
  bool is_ready_ = false;  // stands in the network's row
};

}  // namespace cw
