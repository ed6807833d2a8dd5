// The in-memory twin of every driver: a port whose wire is a SimNetwork.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "dataplane/port.h"
#include "dataplane/port/done_row.h"
#include "dataplane/port/sim/arrivals.h"
#include "dataplane/port/sim/frame.h"

namespace cw {

class SimNetwork;
struct SimLink;
struct SimOptions;

/// Made by SimNetwork::add_port(), which says what is special about the simulation. The instants it
/// is given are those of the network's clock.
///
/// tx_burst() takes everything: what the network cannot carry is lost there and counted there. A
/// packet that arrives while all the port's packets are lent is lost (rx_dropped), as on a NIC
/// whose ring is not refilled.
class SimPort final : public Port {
 public:
  SimPort(SimNetwork& network, const SimOptions& options);

  const PortFacts& facts() const override { return facts_; }
  PortCounters counters() const override { return counters_; }
  size_t rx_burst(std::span<Packet*> out, Instant now) override;
  size_t tx_burst(std::span<Packet* const> packets, Instant now) override;
  size_t take_burst(std::span<Packet*> out) override;
  size_t take_done(std::span<uint64_t> out) override;
  void give_back(std::span<Packet* const> packets) override;

  /// When rx_burst() will next have something; never when nothing is on its way here.
  Instant next_event() const { return std::max(arrivals_.earliest(), still_until_); }
  /// The machine behind the port stands still: what arrives until then waits.
  void stand_still_until(Instant t) { still_until_ = t; }
  /// Packets that the port's user holds; the rest of the set is free.
  size_t lent_count() const { return frames_.lent_count(); }

 private:
  friend class SimNetwork;

  SimLink* link_to(const Packet& packet) const;
  SimFrame* accept(SimFrame& arrived);
  void release(SimFrame& frame);

  SimNetwork& network_;
  PortFacts facts_;
  PortCounters counters_;
  FramePool frames_;
  DoneRow done_;
  Arrivals arrivals_;
  Instant still_until_;
  std::vector<SimLink*> links_;  // [peer * paths + path]; null: no such route
};

}  // namespace cw
