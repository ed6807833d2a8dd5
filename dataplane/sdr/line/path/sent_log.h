// Of a path to a peer that sees no numbers of packets: how many did not arrive. The peer says how
// many have come in all; what had left a round trip before it said so should be among them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "dataplane/base/units.h"

namespace cw::sdr {

/// Thread: one. Counts are since the epoch began.
class SentLog {
 public:
  /// `sent` packets have left by now, in 24 bits.
  void note(uint32_t sent, Duration rtt, Instant now) {
    if (!is_begun_ || now - latest().at >= std::max(rtt / moments_per_rtt, interval_min)) {
      next_ = (next_ + 1) % moments_.size();
      latest() = {now, moments_[(next_ + moments_.size() - 1) % moments_.size()].sent};
      is_begun_ = true;
    }
    latest().sent += (sent - latest().sent) & 0xffffff;
    latest().last = now;
  }
  /// So many of those that the peer should have heard of when it counted `received` did not come.
  /// What is late counts as lost until it comes, if it is late by half a round trip.
  uint64_t lost(uint64_t received, Duration rtt, Instant now) const {
    const Duration patience = rtt + std::max(rtt / 2, late_min);
    uint64_t sent = 0;
    for (const Moment& each : moments_) {
      if (each.sent > sent && each.last + patience <= now) sent = each.sent;
    }
    return sent > received ? sent - received : 0;
  }

 private:
  static constexpr size_t moments_per_rtt = 16;
  static constexpr Duration interval_min = Duration::from_us(500);
  static constexpr Duration late_min = Duration::from_ms(10);
  /// Packets that left between two instants, and how many with those before them.
  struct Moment {
    Instant at;
    uint64_t sent = 0;
    Instant last;
  };
  Moment& latest() { return moments_[next_]; }

  std::array<Moment, 4 * moments_per_rtt> moments_{};
  size_t next_ = 0;
  bool is_begun_ = false;
};

}  // namespace cw::sdr
