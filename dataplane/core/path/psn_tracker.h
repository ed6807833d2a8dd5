// The 24-bit PSNs of one channel on one path, read as transmission numbers: what has arrived, what
// is missing, and when missing becomes lost.
//
//        settled: lost or arrived             gaps, oldest first           highest
//   ... x x . x x x x . . x x x x x x x x [ . . . ] x x x [ . ] x x x x x x x x
//                                          \ opened when the x behind it arrived
//
// A PSN that is skipped opens a gap. The gap waits for the reorder budget of its path; what is
// still missing then is lost, and reported once as ranges. A packet that arrives later than that
// was not lost but reordered, and says so: the budget was too small.
//
// PSNs are hostile: no arrival costs more than a walk over one window, and memory is fixed. The
// last packets before a silence open no gap, because nothing follows them: that loss is for timers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "dataplane/base/memory/ring.h"
#include "dataplane/base/serial.h"
#include "dataplane/base/units.h"

namespace cw {

/// Consecutive PSNs that are given up as lost: one burst of loss.
struct LostRange {
  uint32_t tracker = 0;  ///< the tag of the tracker that saw it
  Psn first;
  uint32_t count = 0;  ///< 1 .. 2^23
};

/// What one packet's PSN says about its way.
struct PsnArrival {
  enum class Kind : uint8_t {
    Fresh,      ///< the highest yet
    Reordered,  ///< fills a gap in time
    Late,       ///< fills what had been reported lost: the reorder budget was too small
    Duplicate,  ///< has arrived before
    Stale,      ///< older than the window: late or duplicate, nobody can say
  };
  Kind kind = Kind::Fresh;
  uint32_t depth = 0;  ///< Reordered, Late: how many PSNs it is behind the highest
  Duration behind{};   ///< Reordered, Late: how long ago its gap was opened; Late: zero: long ago
};

/// Thread: one. Cost: no allocation; an in-order packet is a bit and two comparisons.
class PsnTracker {
 public:
  static constexpr uint32_t window_psns = 4096;
  static constexpr size_t gaps_max = 64;
  /// This many stale PSNs in a row, over so long a time and never so far apart, mean that a forged
  /// jump has moved the numbers: the tracker then starts again from what it sees. What a device
  /// hands over again is a burst, and shorter.
  static constexpr uint32_t stale_run_max = 64;
  static constexpr Duration stale_time_min = Duration::from_ms(500);
  static constexpr Duration stale_pause_max = Duration::from_s(10);
  static_assert(Psn::space % window_psns == 0, "a PSN's place in the window survives the wrap");
  static_assert(window_psns < Psn::window_max);

  /// `tag` is the owner's name for this tracker, repeated in every LostRange. `expected` is the PSN
  /// that the peer sends first, so that even its loss is seen.
  explicit PsnTracker(uint32_t tag = 0, Psn expected = Psn()) : tag_(tag) { restart(expected); }

  /// Forgets everything; open gaps are dropped unreported.
  void restart(Psn expected);

  /// Takes one arrived PSN. Gaps that the window or the gap list can no longer hold are settled
  /// now, before their budget, and appended to `lost`.
  PsnArrival on_arrival(Psn psn, Instant now, Ring<LostRange>& lost);

  /// Takes the PSN right behind the highest while no gap is open, as on_arrival() would: Fresh.
  /// False for any other, and nothing has happened.
  bool try_next(Psn psn) {
    if (psn != highest_ + 1 || gap_count_ > 0) return false;
    stale_run_ = 0;
    const uint32_t place = psn.value() % window_psns;
    arrived_[place / word_bits] |= uint64_t{1} << place % word_bits;
    highest_ = psn;
    return true;
  }

  /// Appends to `lost` what is still missing from gaps opened at least `reorder_time` ago. Stops
  /// when `lost` is full; the rest comes with the next call.
  void settle(Instant now, Duration reorder_time, Ring<LostRange>& lost);

  bool has_gaps() const { return gap_count_ > 0; }
  /// When settle() will next have a gap to look at; never() when there is none.
  Instant next_settle(Duration reorder_time) const;

  /// PSNs given up as lost, and the ranges they came in; those that arrived all the same are not
  /// taken off again. Ranges count even when `lost` was full and could not carry them.
  uint64_t lost_count() const { return lost_count_; }
  uint64_t lost_range_count() const { return lost_range_count_; }
  /// PSNs whose loss could not be reported because `lost` was full when they had to be settled.
  uint64_t unreported_count() const { return unreported_count_; }

 private:
  // What is skipped while the newest gap is this much younger than the reorder time joins it: a
  // path that reorders much has gaps between all its packets.
  static constexpr int64_t joined_share = 32;

  struct Gap {
    Psn first;
    uint32_t count = 0;    // from the first PSN missing at its opening to the last
    uint32_t missing = 0;  // of those; a gap without any is removed
    Instant opened;
  };
  static constexpr unsigned word_bits = 64;

  bool has(Psn psn) const;
  void set(Psn psn, bool arrived);
  PsnArrival on_older(Psn psn, uint32_t depth, Instant now);
  PsnArrival on_stale(Psn psn, uint32_t depth, Instant now);
  void jump(Psn psn, uint32_t step, Ring<LostRange>& lost);
  bool settle_first(bool must, Ring<LostRange>& lost);
  bool report(const Gap& gap, uint32_t count, bool must, Ring<LostRange>& lost);
  void open_gap(Psn psn, uint32_t skipped, Instant now, Ring<LostRange>& lost);
  Gap* gap_of(Psn psn);
  Duration since_lost(Psn psn, Instant now) const;
  void remove(Gap* gap);

  uint32_t tag_;
  Psn highest_;
  uint32_t stale_run_ = 0;
  Instant stale_since_, stale_last_;
  uint64_t lost_count_ = 0, lost_range_count_ = 0, unreported_count_ = 0;
  std::array<uint64_t, window_psns / word_bits> arrived_{};  // one bit per PSN up to highest_
  std::array<Gap, gaps_max> gaps_{};                         // oldest first, hence lowest first
  size_t gap_count_ = 0;
  Duration joined_within_;            // by the reorder time that settle() was last called with
  std::array<Gap, gaps_max> gone_{};  // reported last, in a row that goes round
  size_t gone_next_ = 0;
};

}  // namespace cw
