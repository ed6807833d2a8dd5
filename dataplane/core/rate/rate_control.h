// How fast a link may be sent on. The configured rate is what was paid for, and it stands as long
// as the link carries it: loss alone, however high, is the policies' affair. Where the link carries
// less, a queue stands in front of its bottleneck and what overflows is lost; what arrives
// meanwhile is what it carries.
//
//            a queue stands, and what arrives is less than what leaves; or, on trial, much is lost
//   open ------------------------------------------------------------> drain -> cruise
//     ^                                                                          |  ^
//     |   a probe passed, and the configured rate is reached                     v  |
//     +----------------------------------------------------------- dip <----- probe
//
// A queue may also stand though all that leaves arrives: what a pause of either end or of the line
// left behind. Then what was sent is no measure of what the link carries; the queue is drained, and
// the rate stands.
//
//   drain   0.75 of what the link carries, for as long as the queue needs to run empty; 0.97 while
//           what hosts send meanwhile would soon be too much to wait here
//   cruise  0.97 of it, eight units long
//   probe   1.25 of it for one unit; `dip` pays it back with 0.75, and one unit later its echo is
//           in. A probe that found neither queue nor loss raises the estimate, and the next follows
//           at once.
//
// A policer keeps no queue: what is too much for it is lost, and nothing is late. Its loss goes
// when the rate falls; a line that merely loses does so at any rate. So much loss that stays puts
// the rate on trial: should the first cruise still lose half as much, the loss is the line's own,
// the rate is the configured one again, and loss like that is not tried again for a while.
//
// A unit is one RTT and at least as long as makes a probe's excess a queue that can be seen. A
// delay that draining does not lower is a longer route and no queue: it becomes the new base. Bytes
// are as the pacer counts them. Samples while the link idles say nothing and are left out.
//
// Thread: one. Cost: a few additions per burst, and a decision per RTT. No clock, no allocation.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "dataplane/base/limits.h"
#include "dataplane/base/units.h"
#include "dataplane/core/path/paths.h"

namespace cw {

struct RateControlOptions {
  bool adapt = false;                         ///< false: the configured rate, whatever happens
  Rate floor = Rate::from_mbps(1);            ///< never slower, nor than envelopes need
  Duration queue_min = Duration::from_ms(4);  ///< a shorter delay is no queue
  Duration unit_min = Duration::from_ms(40);  ///< of a probe; a quarter of it is the queue it makes
};

class RateControl {
 public:
  RateControl(const RateControlOptions& options, Rate configured)
      : options_(options), configured_(configured), told_(configured) {}

  /// A new epoch, or a new configured rate: everything is learnt anew.
  void restart(Rate configured);
  /// Whether it adapts from now on: everything is learnt anew, if that is another answer.
  void set_adapt(bool adapts) {
    if (options_.adapt == adapts) return;
    options_.adapt = adapts;
    restart(configured_);
  }

  /// Packets of data have left; `bytes` are theirs and those of envelopes.
  void on_sent(uint64_t packets, uint64_t bytes) {
    sent_packets_ += packets;
    sent_bytes_ += bytes;
    if (phase_ == Phase::Probe) probe_bytes_ += bytes;
  }
  void on_rtt(uint16_t path, Duration sample, Instant now);
  /// The peer's counts, of all paths since the epoch began: packets that arrived, and that did not.
  void on_report(uint64_t arrived, uint64_t lost, Instant now);
  /// Whether more waits for the line than may do so for long.
  void on_pressure(bool is_pressed) {
    is_pressed_ = is_pressed;
    if (is_pressed && phase_ == Phase::Drain) drained_queue_ = Duration();  // it does not
  }
  /// Phases end. Returns whether rate() has changed since the last call.
  bool on_time(Instant now);
  Instant next_due() const { return phase_end_; }

  /// What the pacer is to run at.
  Rate rate() const;
  Rate configured() const { return configured_; }
  /// The link carries less than was configured.
  bool is_limited() const { return phase_ != Phase::Open; }

 private:
  enum class Phase : uint8_t { Open, Drain, Cruise, Probe, Dip, Wait };
  struct Path {
    RttEstimator rtt;
    Duration least = Duration::max();  // since the last judgement
  };
  /// What lies between two judgements.
  struct Interval {
    double sent_bps = 0, carried_bps = 0;
    double loss = 0, loss_low = 0;  ///< and with 95 % confidence, at least
    Duration queue;                 ///< that stood all the time
    bool is_sure = false;           ///< and it is more than what RTTs vary by
  };

  Duration base_rtt() const;
  Duration unit() const { return std::max(base_rtt(), options_.unit_min); }
  bool measure(uint64_t arrived, uint64_t lost, Instant now, Interval& interval);
  void take_queue(Interval& interval);
  void judge(const Interval& interval, Instant now);
  void judge_loss(const Interval& interval, bool is_queued, Instant now);
  void judge_trial(const Interval& interval, Instant now);
  void judge_probe(Instant now);
  double carried_with_queue(const Interval& interval, bool is_congested) const;
  void limit(double carried_bps, Duration queue, Instant now);
  void accept_delay(Duration queue, Instant now);
  void enter(Phase phase, Duration time, Instant now);
  void open();
  Rate share(double factor) const;

  RateControlOptions options_;
  Rate configured_;
  Phase phase_ = Phase::Open;
  Instant phase_end_ = Instant::never();
  Instant blind_until_;  // what is measured before was sent at another rate
  double carries_bps_ = 0;
  Rate told_;
  bool is_pressed_ = false;

  std::array<Path, limits::paths_max> paths_{};

  uint64_t sent_packets_ = 0, sent_bytes_ = 0;  // since the last judgement
  uint64_t arrived_ = 0, lost_ = 0;             // at the last judgement
  Instant judged_at_;
  bool has_judged_ = false;
  double packet_bytes_ = 0;

  /// Intervals in a row with a queue.
  struct Queued {
    uint32_t intervals = 0;
    double sent_bps = 0, carried_bps = 0;  ///< sums

    Queued with(const Interval& next) const {
      return {intervals + 1, sent_bps + next.sent_bps, carried_bps + next.carried_bps};
    }
  };
  Queued queued_;
  uint32_t congested_ = 0;  // intervals in a row
  uint32_t vain_drains_ = 0;
  Duration drained_queue_;  // what the last drain was to empty
  Duration accepted_;       // not a queue, though it looks like one
  Instant accepted_until_;

  /// Of intervals in a row: how much was lost, and what came.
  struct Losses {
    uint32_t intervals = 0;
    double loss = 0, carried_bps = 0;  ///< sums
  };
  Losses thin_;            // without a queue
  double trial_loss_ = 0;  // that the rate was lowered for, on trial; zero: there is no trial
  double own_loss_ = 0;    // the line's own, as a trial has shown
  Instant own_loss_until_;

  // A probe is compared with the cruise before it.
  Duration cruise_peak_, probe_peak_;
  double cruise_loss_ = 0, probe_loss_ = 0, probe_carried_bps_ = 0;
  uint64_t probe_bytes_ = 0;
  uint32_t probe_intervals_ = 0;
};

}  // namespace cw
