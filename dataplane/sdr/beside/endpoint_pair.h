// The station behind a WAN port for two endpoints, of which most of the time there is one: while
// links take the place of others, both are there, and each packet is for the one that claims it.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "dataplane/base/limits.h"
#include "dataplane/core/turn/station.h"
#include "dataplane/sdr/endpoint.h"

namespace cw::sdr {

/// Thread: the worker's. Cost, where there is one: a comparison per call.
class EndpointPair final : public WanStation {
 public:
  explicit EndpointPair(Endpoint& first) : first_(&first) {}

  /// Between two turns; both outlive it. What neither claims more is for `first`. Null: there is no
  /// second.
  void set(Endpoint& first, Endpoint* second) {
    first_ = &first;
    second_ = second;
  }

  void on_gap(Duration gap, Instant now) override;
  size_t arrivals_max() const override;
  void on_arrivals(std::span<const Arrival> arrivals, Instant now) override;
  bool on_time(Instant now) override;
  size_t collect(std::span<Send> out, Instant now) override;
  void on_done(std::span<const uint64_t> cookies) override;
  Instant next_wakeup() const override;

 private:
  Endpoint* first_;
  Endpoint* second_ = nullptr;
  bool is_second_due_ = false;  // to be asked first for packets
  std::array<Arrival, limits::burst_packets_max> sorted_{};
};

}  // namespace cw::sdr
