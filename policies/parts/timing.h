// What a policy derives from the measured round-trip time. The core measures (its echo, free of the
// ambiguity of resends); here is only arithmetic.
#pragma once

#include <algorithm>
#include <cstdint>

#include "dataplane/base/units.h"
#include "dataplane/policy.h"

namespace cw::policy {

/// The link as a reliability scheme sees it.
struct LinkTiming {
  // Before the first `link` fact: longer than any terrestrial path, so that nothing is resent
  // early.
  Duration rtt = Duration::from_ms(200);
  Duration rtt_min = Duration::from_ms(200);  // of the fastest path
  Duration jitter;                            // four deviations of the worst path
  Duration reorder;                           // the largest reorder budget of a path
  Duration skew;                              // slowest path minus fastest
  Rate rate;                                  // of the pacer; zero: not known

  /// Paths that are down or not yet measured do not count.
  static LinkTiming from(const cw_fact_link& link) {
    LinkTiming timing;
    timing.rate = Rate::from_bps(link.rate_bps);
    // Fractions of the RTT are waiting times; none of them may become zero.
    const Duration least = Duration::from_us(1);
    timing.rtt = timing.rtt_min = std::max(Duration::from_ns(link.rtt_ns), least);
    int64_t fastest = INT64_MAX, slowest = 0;
    for (uint32_t i = 0; i < link.paths && i < CW_PATHS_MAX; ++i) {
      const cw_path_facts& path = link.path[i];
      if (path.is_up == 0) continue;
      timing.reorder = std::max(timing.reorder, Duration::from_ns(path.reorder_ns));
      if (path.rtt_smooth_ns <= 0) continue;
      timing.jitter = std::max(timing.jitter, Duration::from_ns(4 * path.rtt_var_ns));
      const int64_t shortest = path.rtt_min_ns > 0 ? path.rtt_min_ns : path.rtt_smooth_ns;
      timing.rtt_min = std::clamp(Duration::from_ns(shortest), least, timing.rtt_min);
      fastest = std::min(fastest, path.rtt_smooth_ns);
      slowest = std::max(slowest, path.rtt_smooth_ns);
    }
    // A packet may take the slow path there and its answer the fast one back: the skew one way can
    // be all of the difference between the round trips. The same difference delays an answer.
    if (slowest > fastest) timing.skew = Duration::from_ns(slowest - fastest);
    timing.rtt = std::max(timing.rtt, Duration::from_ns(slowest));
    // An echo may come back on another path than it left on, and a path may not have had one yet:
    // then the difference shows as deviation.
    if (link.paths > 1)
      timing.skew = std::max(timing.skew, std::min(timing.jitter, timing.rtt / 2));
    return timing;
  }

  /// RTO = RTT + alpha x RTT: alpha covers queues on the way and the time until an acknowledgement
  /// is written.
  Duration rto(double alpha) const { return rtt + rtt.scaled(alpha); }
  /// How long `bytes` take to leave; nothing while the rate is not known. A second at most.
  Duration time_for(uint64_t bytes) const {
    if (rate.bps() == 0) return {};
    return std::min(rate.time_for(Bytes(bytes)), Duration::from_s(1));
  }
  /// How much later than one RTT an answer may come and still be on its way.
  Duration margin() const { return rtt / 32 + std::min(jitter, rtt / 2); }
};

/// Doubles a timeout while nothing is heard. Persistent (Karn): an answer does not say which of
/// several transmissions it answers, so only the acknowledgement of something sent for the first
/// time, after the last doubling, takes the back-off away.
class BackOff {
 public:
  static constexpr unsigned doublings_max = 6;

  bool is_active() const { return doublings_ > 0; }
  Duration of(Duration timeout) const { return timeout * (int64_t{1} << doublings_); }

  void on_timeout() {
    doublings_ = std::min(doublings_ + 1, doublings_max);
    has_witness_ = false;
  }
  /// Slot `slot` left for the first time.
  void on_first_sent(uint32_t message, uint32_t slot) {
    if (!is_active() || has_witness_) return;
    has_witness_ = true;
    message_ = message;
    slot_ = slot;
  }
  /// Calls `is_acknowledged(message, slot)` for the transmission that would end the back-off.
  template <class Question>
  void on_heard(Question&& is_acknowledged) {
    if (has_witness_ && is_acknowledged(message_, slot_)) *this = BackOff();
  }

 private:
  unsigned doublings_ = 0;
  bool has_witness_ = false;
  uint32_t message_ = 0, slot_ = 0;
};

}  // namespace cw::policy
