// The station behind a LAN port for two gateways, of which most of the time there is one. While one
// takes the place of the other, the first takes what the hosts send, the second goes on with what
// it has and with what its links still bring, and the newer one's frames stay behind the older's:
//
//   begin   the newer is second. What its peers send in turn is let out once the same peer has gone
//           over to it, and what that sent to the older one has left.
//   move    the newer is first. What hosts send waits until the older has sent what it has.
//   end     the older is gone.
#pragma once

#include <cstddef>
#include <span>

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
  void end();

  void on_gap(Duration gap, Instant now) override;
  void on_rx(std::span<Packet* const> packets, Instant now) override {
    first_->on_rx(packets, now);
  }
  bool on_time(Instant now) override;
  size_t collect(std::span<Packet*> out, Instant now) override;
  Instant next_wakeup() const override;

 private:
  static constexpr Duration look_interval = Duration::from_ms(1);

  void follow(Instant now);

  Gateway* first_;
  Gateway* second_ = nullptr;
  Gateway* behind_ = nullptr;  // the newer of both
  Instant looked_;
  bool is_waiting_ = false;  // something is held back
};

}  // namespace cw::gateway
