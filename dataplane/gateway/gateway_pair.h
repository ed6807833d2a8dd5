// The station behind a LAN port for two gateways, of which most of the time there is one. While one
// takes the place of the other, the first takes what the hosts send, the second goes on with what
// it has and with what its links still bring, and the newer one's frames stay behind the older's:
//
//   begin   the newer is second. What its peers send in turn is let out once the same peer has gone
//           over to it, and what that sent to the older one has left.
//   move    the newer is first. What hosts send waits until the older has sent what it has.
//   end     the older is gone.
//
// Or the newer is, which is given up before.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "dataplane/base/limits.h"
#include "dataplane/core/turn/station.h"
#include "dataplane/gateway/gateway.h"

namespace cw::gateway {

/// Thread: the worker's. Cost, where there is one: a comparison per call.
class GatewayPair final : public Station {
 public:
  explicit GatewayPair(Gateway& first) : first_(&first) {}

  // Between two turns; all of them outlive it.
  void begin(Gateway& newer);
  /// The first and the second change places; a second time, and all is as it was.
  void move(Instant now);
  /// The newer is to go, whichever is first: nothing is held back or late for its sake any more; or
  /// is not to go after all.
  void give_up_newer(bool is_given_up);
  void end();
  /// Packets to some peers, by the number of the first link to each, go by the second, since these
  /// do not answer by the first. `peers` is left with what there was.
  void exchange_others(std::vector<bool>& peers) { others_.swap(peers); }
  /// The site does, and says so to all peers by all links.
  void set_drains(bool drains) { drains_ = drains; }

  void on_gap(Duration gap, Instant now) override;
  void on_rx(std::span<Packet* const> packets, Instant now) override;
  bool on_time(Instant now) override;
  size_t collect(std::span<Packet*> out, Instant now) override;
  Instant next_wakeup() const override;

 private:
  static constexpr Duration look_interval = Duration::from_ms(1);

  void follow(Instant now);
  bool is_for_second(const Packet& packet) const;

  Gateway* first_;
  Gateway* second_ = nullptr;
  Gateway* behind_ = nullptr;  // the newer of both
  std::vector<bool> others_;   // empty: most of the time
  std::array<Packet*, limits::burst_packets_max> sorted_{};
  Instant looked_;
  bool is_waiting_ = false;  // something is held back
  bool drains_ = false;
  bool has_given_up_ = false;  // the newer
};

}  // namespace cw::gateway
