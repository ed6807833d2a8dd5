// Whether a policy does worse than the one before it: the two are watched for as long as it takes
// to tell, the one before until the swap begins and the next from when nothing of it is left.
//
//   begin() --add() ...--> is_ready() : swap --> swapped() --add() ...--> verdict()
//
// Worse is: of the frames so much more is given up that chance does not explain twice as much, or
// those that wait for others wait half as long again. If meanwhile the line loses half as much
// again, or its queues hold packets that much longer, nobody can tell whose fault it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "dataplane/base/units.h"
#include "dataplane/sdr/stream/stream_outcome.h"

namespace cw::site {

/// How a direction of a QP is, at one moment; counts since the link's epoch began, or before.
struct GuardSample {
  sdr::StreamOutcome outcome;
  uint64_t line_arrived = 0, line_lost = 0;  ///< packets, over all paths
  Duration rtt;                              ///< of the longest path, smoothed
};

enum class GuardState : uint8_t {
  None,         ///< nobody watches
  Watching,     ///< it cannot be told yet
  Kept,         ///< it does no worse
  SwappedBack,  ///< it did
  Undecided,
};

/// Thread: one.
class SwapGuard {
 public:
  static constexpr Duration window_min = Duration::from_s(10);
  static constexpr int64_t window_rtts_min = 50;
  static constexpr uint64_t window_frames_min = 2000;
  /// So long it waits for frames, and no longer: before the swap and after it.
  static constexpr Duration before_max = Duration::from_s(30), after_max = Duration::from_s(300);

  explicit SwapGuard(Instant now) : began_(now) {}

  /// What is known now; nothing: the receiver has not told.
  void add(const std::optional<GuardSample>& sample, Instant now);
  /// Enough is known of the one before, or never will be: now it may be swapped.
  bool is_ready(Instant now) const { return before_.is_full() || now >= began_ + before_max; }
  /// It has been: what its receiver tells of is that policy's from this number on.
  void swapped(uint16_t policy_epoch, Instant now);
  bool is_after() const { return is_after_; }

  struct Verdict {
    GuardState state = GuardState::Undecided;  ///< or Kept; SwappedBack: it is to be
    std::string why;                           ///< with the figures of both
  };
  /// Nothing: it is too early.
  std::optional<Verdict> verdict(Instant now) const;

 private:
  /// What lies between two samples.
  struct Window {
    void add(const GuardSample& sample);
    bool is_full() const;
    uint64_t frames() const { return out() + given_up(); }
    uint64_t out() const;
    uint64_t given_up() const;
    uint64_t waited() const { return holes().sum(); }
    HoleTimes holes() const;
    Duration hole_p99() const { return holes().quantile(0.99); }
    uint64_t line_lost() const;
    uint64_t line_packets() const;
    Duration rtt_mean() const;

    std::optional<GuardSample> first, last;
    Duration rtt_sum, rtt_min = Duration::max();
    int64_t rtts = 0;
  };

  bool is_more_given_up() const;
  bool is_hole_longer() const;
  bool is_line_worse() const;
  std::string figures() const;

  Instant began_;
  bool is_after_ = false;
  uint16_t policy_epoch_ = 0;
  Window before_, after_;
};

}  // namespace cw::site
