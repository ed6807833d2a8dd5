// The station behind a LAN port for two gateways, of which most of the time there is one: while
// links take the place of others, the first takes what the hosts send, and the second goes on with
// what it has, and with what its links still bring.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "dataplane/core/turn/station.h"
#include "dataplane/gateway/gateway.h"

namespace cw::gateway {

/// Thread: the worker's. Cost, where there is one: a comparison per call.
class GatewayPair final : public Station {
 public:
  explicit GatewayPair(Gateway& first) : first_(&first) {}

  /// Between two turns; both outlive it. Null: there is no second.
  void set(Gateway& first, Gateway* second) {
    first_ = &first;
    second_ = second;
  }

  void on_gap(Duration gap, Instant now) override {
    first_->on_gap(gap, now);
    if (second_ != nullptr) second_->on_gap(gap, now);
  }
  void on_rx(std::span<Packet* const> packets, Instant now) override {
    first_->on_rx(packets, now);
  }
  bool on_time(Instant now) override {
    const bool has_worked = first_->on_time(now);
    return second_ == nullptr ? has_worked : second_->on_time(now) || has_worked;
  }
  // What has been here longer leaves first.
  size_t collect(std::span<Packet*> out, Instant now) override {
    const size_t count = second_ == nullptr ? 0 : second_->collect(out, now);
    return count + first_->collect(out.subspan(count), now);
  }
  Instant next_wakeup() const override {
    const Instant due = first_->next_wakeup();
    return second_ == nullptr ? due : std::min(due, second_->next_wakeup());
  }

 private:
  Gateway* first_;
  Gateway* second_ = nullptr;
};

}  // namespace cw::gateway
