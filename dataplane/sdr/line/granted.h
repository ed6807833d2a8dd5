// A line's end of its grants (core/rate/grants.h), where several links share a pair's rate: what it
// may send by now, and what its granter hears of it. A line that has the whole rate has none of
// this.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "dataplane/base/limits.h"
#include "dataplane/core/rate/grants.h"
#include "dataplane/sdr/line/shares.h"

namespace cw::sdr {

/// Thread: the line's. Nothing allocates.
class Granted {
 public:
  /// Of one class, since it was last told.
  struct Taken {
    uint64_t bytes = 0;    ///< that the pacer has been given
    uint64_t waiting = 0;  ///< bytes that have not left, where streams count them
    bool has_more = false;
  };
  /// `line` outlives it. Nothing is granted before the first renew().
  explicit Granted(GrantLine& line) : line_(line) {}

  /// When it is to be asked again: also where the grant ends before that. Seldom while nothing is
  /// sent, and not at all when that has been so for a while: then the lease ends.
  Instant due() const { return due_; }
  /// Where it is seldom, or never: something waits now.
  void hurry(Instant now) {
    if (is_slow_) due_ = std::min(due_, now);
  }
  /// Takes what is granted now. Returns whether the rate is another one.
  bool renew(Instant now);
  /// Zero once the lease is over.
  Rate rate() const { return rate_; }
  Instant until() const { return grant_.until; }
  /// By class, of that rate.
  std::span<const uint32_t> class_kbps() const { return grant_.kbps; }
  /// What waits for the line.
  struct Waiting {
    Duration backlog;              ///< at the pacer
    uint64_t envelopes_bytes = 0;  ///< there, of these alone
    bool is_any = false;           ///< there, or at streams; envelopes, too
  };
  /// What the streams have taken since the last call, and whether they want more than they get.
  /// After renew(), since it confirms.
  void tell(Shares& shares, const Waiting& waiting, Instant now);

  void begin_epoch();
  /// An envelope of so many bytes on the wire was given to the pacer.
  void on_envelope(uint64_t bytes) { envelopes_bytes_ += bytes; }
  void on_sent(uint64_t packets, uint64_t bytes) {
    counts_.sent_packets += packets;
    counts_.sent_bytes += bytes;
  }
  void on_report(uint64_t arrived, uint64_t lost) {
    counts_.arrived = arrived;
    counts_.lost = lost;
  }
  void on_rtt(uint16_t path, Duration sample);
  void on_pressure(bool is_pressed) { demand_.is_pressed = is_pressed; }

 private:
  /// What one class wants, or envelopes: what it takes on average, and that what waits leaves soon.
  /// A class that waits without an end wants all that it can get; who sends in bursts leaves the
  /// rest to others.
  struct Wish {
    uint64_t average_kbps = 0;
    uint32_t waits_in_a_row = 0;
    uint32_t update(const Taken& taken, Duration elapsed);
    uint32_t update_class(const Taken& taken, Duration elapsed);
  };
  bool tell_envelopes(const Waiting& waiting, Duration elapsed);
  void plan_next(bool has_data, bool has_envelopes, bool waits, Instant now);

  GrantLine& line_;
  Grant grant_;
  Rate rate_;  // in force
  Instant due_, told_at_, used_at_;
  bool is_slow_ = false;
  Demand demand_;
  std::array<bool, grant_classes_max> is_at_pacer_{};  // some of the class, for too long
  std::array<Wish, grant_classes_max> wishes_{};
  Wish envelopes_wish_;
  uint64_t envelopes_bytes_ = 0;  // since it was last told
  LineCounts counts_;
  std::array<Duration, limits::paths_max> base_rtts_{};  // the shortest of each path; 0: none yet
};

}  // namespace cw::sdr
