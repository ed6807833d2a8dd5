// Two gateways of one process that turn in turns: while one turns the other waits, so that each
// one's time is its own. Each has a thread, and a core, as two processes have. The second turns
// until it has nothing to do: as many packets as it takes at once, and what ends tell each other
// besides, would else leave a few behind each time, and soon every frame of the first would come
// out of a queue, and cold.
//
// Both are told the same time, which goes on by one step whenever both have turned. What they do by
// the clock they do as often as if a pair of turns took as long, whatever this machine's speed is,
// be it an emulated one.
//
// Several pairs turn in rows, each a few milliseconds long: what else runs on the machine then
// takes from all of them alike, and one can be held beside another.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <thread>
#include <vector>

#include "control/gateway/site/site.h"
#include "dataplane/core/turn/clock.h"

namespace cw::bench {

using SitePair = std::array<site::Site*, 2>;

/// What a turn of each took, in nanoseconds, of each row of turns its mean.
using RowsNs = std::array<std::vector<double>, 2>;

class Turns {
 public:
  struct Setup {
    std::array<unsigned, 2> cores{0, 1};
    Duration step = Duration::from_us(25);  ///< 64 full frames at 31 Gbit/s
    /// Whose turns are counted_turn(): what callgrind is told to look at.
    unsigned counted = 1;
  };

  /// They begin at once. The sites live longer.
  Turns(const std::vector<SitePair>& pairs, const Setup& setup);
  ~Turns();
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  /// The next rows of each pair; those of one number lay side by side in time. Waits for them.
  std::vector<RowsNs> measure(size_t rows);

  /// What that pair has had so far, measured or not.
  size_t turns_of(size_t pair) const { return pairs_[pair].turns; }

  static constexpr size_t row_turns = 64;  ///< work that comes once in many turns is in each row

 private:
  void run(unsigned self);
  bool wait_for_turn(unsigned self) const;
  void turn(unsigned self);
  void end_turn();
  bool try_turn(unsigned self);

  struct Pair {
    SitePair sites;
    Instant now;
    std::array<double, 2> row_ns{};
    RowsNs rows;
    std::atomic<size_t> turns = 0;
  };

  const Setup setup_;
  MachineClock clock_;
  // Of whose turn it is, as are the figures.
  std::deque<Pair> pairs_;
  size_t pair_ = 0, turns_ = 0;  // whose row it is, and how many turns of it there have been
  bool is_measured_ = false;     // the row
  std::atomic<unsigned> whose_ = 0;
  std::atomic<size_t> left_ = 0;  // rows of all to be measured
  std::atomic<bool> stop_ = false;
  std::array<std::thread, 2> threads_;
};

/// A site's turn, and nothing else is.
bool counted_turn(site::Site& site, Instant now);

}  // namespace cw::bench
