// What a link knows about each of its paths, measured by the core and independent of any policy:
// round-trip time, loss with its confidence, length of loss bursts, and reordering. Numbers come in
// from echo samples and PSN trackers; a report goes out, at most once per RTT, as a policy's facts.
//
// Thread: one, for everything here. Cost: a few additions per burst, no allocation.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "dataplane/base/units.h"
#include "dataplane/core/path/psn_tracker.h"

namespace cw {

/// Round-trip time after RFC 6298, in integers, and its minimum over the last 10 to 20 seconds (so
/// that a route that has become longer is believed in the end). One that has become longer counts
/// whole once three samples in a row say so: by eighths it takes a second, in which whatever waits
/// for an answer gives up too early.
class RttEstimator {
 public:
  static constexpr Duration min_window = Duration::from_s(10);

  /// One echo sample; samples that are not positive are ignored.
  void add(Duration sample, Instant now);

  bool has_sample() const { return smoothed_.ns() > 0; }
  Duration min() const;
  Duration smoothed() const { return smoothed_; }
  Duration variance() const { return variance_; }  ///< mean deviation
  /// smoothed + 4 x variance, within [floor, ceiling]; `unknown` before the first sample.
  Duration timeout(Duration floor, Duration ceiling, Duration unknown) const;

 private:
  Duration smoothed_, variance_;
  std::array<Duration, 2> before_{};  // the last samples, the youngest first
  Duration min_now_ = Duration::max(), min_before_ = Duration::max();
  Instant window_start_;
};

/// A share with its 95 % confidence interval.
struct Share {
  double ratio = 0, low = 0, high = 1;
};

/// The interval in which the true share lies when `hits` of `trials` were seen: Wilson's score,
/// sound for few trials and for shares near 0. No trials: anywhere in [0, 1].
Share wilson_share(uint64_t hits, uint64_t trials);

/// Loss over a sliding window of time, kept in eight parts so that the oldest eighth can leave.
class LossEstimator {
 public:
  static constexpr size_t part_count = 8;

  /// `window` is how far back the estimate looks, at least 8 ns.
  explicit LossEstimator(Duration window = Duration::from_s(4));

  void add_arrived(uint64_t packets, Instant now) { part_at(now).arrived += packets; }
  /// `bursts` is the number of unbroken runs that the lost packets came in.
  void add_lost(uint64_t packets, uint64_t bursts, Instant now);
  /// A packet that had been counted as lost has arrived after all.
  void add_late(Instant now);

  Share loss(Instant now) const;
  /// Mean packets per burst; 0 while nothing was lost.
  double burst_mean(Instant now) const;

 private:
  struct Part {
    uint64_t arrived = 0, lost = 0, bursts = 0;
  };
  /// Hot: one comparison, but for the first packet of a part's time.
  Part& part_at(Instant now) {
    if (now >= newest_end_) advance_to(now);
    return parts_[static_cast<size_t>(newest_) % part_count];
  }
  void advance_to(Instant now);
  Part total(Instant now) const;
  int64_t ordinal_of(Instant now) const { return now.ns() / part_time_.ns(); }

  Duration part_time_;
  int64_t newest_ = 0;  // ordinal of the newest part
  Instant newest_end_;
  std::array<Part, part_count> parts_{};
};

/// How long a gap of a path may stay open before it counts as lost. Grows at once to what a packet
/// needed, and to twice what it was if that came after its gap was given up; shrinks slowly while
/// packets need less, and stays between its floor and its ceiling.
class ReorderBudget {
 public:
  /// So long without a late packet before it shrinks.
  static constexpr Duration calm = Duration::from_s(2);

  ReorderBudget(Duration floor, Duration ceiling);

  Duration time() const { return time_; }
  /// A gap was filled in time, after `behind`.
  void on_reordered(Duration behind, Instant now);
  /// A packet came after it had been reported lost, `behind` after its gap was opened; zero: nobody
  /// knows.
  void on_late(Duration behind, Instant now);
  /// Once per RTT or so.
  void on_time(Instant now);
  /// New bounds, when the RTT has been learnt.
  void set_bounds(Duration floor, Duration ceiling);

 private:
  void grow_to(Duration needed, Instant now);

  Duration floor_, ceiling_, time_;
  Duration behind_max_{};  // since the last change; what shrinking must still cover
  Instant changed_;
  bool is_grown_ = false;
};

/// One path at one time, as a policy's `link` fact and the metrics show it.
struct PathState {
  Duration rtt_min, rtt_smoothed, rtt_variance;  ///< 0 before the first echo
  Share loss;                                    ///< over the loss window
  double burst_packets_mean = 0;
  uint32_t reorder_packets_max = 0;  ///< since the path began
  Duration reorder_budget;
  /// Packets, since the path began, as PsnArrival::Kind tells them apart; bursts are runs of lost
  /// ones.
  uint64_t arrived = 0, lost = 0, bursts = 0, reordered = 0, late = 0;
  uint64_t duplicates = 0, stale = 0;
  /// Of bursts: those of 1 packet, of up to 2, 4, 8 ..., and of more than 1,024.
  static constexpr size_t burst_octaves = 12;
  std::array<uint32_t, burst_octaves> bursts_by_octave{};
};

/// Bounds of a path's estimators. A gap shorter than `reorder_floor` is never a loss; one open for
/// `reorder_ceiling`, or one and a half round trips where these are longer, always is.
struct PathOptions {
  Duration loss_window = Duration::from_s(4);
  Duration reorder_floor = Duration::from_us(200);
  Duration reorder_ceiling = Duration::from_ms(20);
};

/// Everything measured about one path; fed by the path's trackers (one per channel) and by echo.
class PathEstimates {
 public:
  explicit PathEstimates(const PathOptions& options = {});

  void on_rtt(Duration sample, Instant now) {
    rtt_.add(sample, now);
    const Duration longest = rtt_.smoothed() + rtt_.smoothed() / 2;
    reorder_.set_bounds(options_.reorder_floor, std::max(options_.reorder_ceiling, longest));
  }
  /// Takes what PsnTracker::on_arrival() said about one packet.
  void on_arrival(const PsnArrival& arrival, Instant now);
  /// The same for a packet that came right behind the one before.
  void on_next(Instant now) {
    loss_.add_arrived(1, now);
    ++totals_.arrived;
  }
  /// Takes one range that a tracker of this path reported.
  void on_lost(const LostRange& range, Instant now);
  void on_time(Instant now) { reorder_.on_time(now); }

  const RttEstimator& rtt() const { return rtt_; }
  /// What the path's trackers are settled with. Who has not been seen to overtake may still do so
  /// where round trips differ: until that shows, they say by how much; after one of them, by all.
  Duration reorder_time() const {
    return std::max(reorder_.time(), std::min(rtt_.variance() * 2, rtt_.smoothed()));
  }
  PathState report(Instant now) const;

 private:
  PathOptions options_;
  RttEstimator rtt_;
  LossEstimator loss_;
  ReorderBudget reorder_;
  PathState totals_;  // only its counts and the reorder maximum
};

}  // namespace cw
