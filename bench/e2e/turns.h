// Two gateways of one process that turn in turns: while one turns the other waits, so that each
// one's time is its own. Each has a thread, and a core, as two processes have. The second turns
// until it has nothing to do: as many packets as it takes at once, and what ends tell each other
// besides, would else leave a few behind each time, and soon every frame of the first would come
// out of a queue, and cold.
//
// Both are told the same time, which goes on by one step whenever both have turned. What they do by
// the clock they do as often as if a pair of turns took as long, whatever this machine's speed is,
// be it an emulated one.
#pragma once

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "control/gateway/site/site.h"
#include "dataplane/core/turn/clock.h"

namespace cw::bench {

class Turns {
 public:
  struct Setup {
    std::array<unsigned, 2> cores{0, 1};
    Duration step = Duration::from_us(25);  ///< 64 full frames at 31 Gbit/s
    /// Whose turns are counted_turn(): what callgrind is told to look at.
    unsigned counted = 1;
  };

  /// They begin at once. The sites live longer.
  Turns(std::array<site::Site*, 2> sites, const Setup& setup);
  ~Turns();
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  /// What turns of each took from now on, in nanoseconds: the median over rows of turns, which
  /// leaves out what else ran on the machine. Waits until there have been `turns`, 64 at least.
  std::array<double, 2> measure(size_t turns);

 private:
  void run(unsigned self);
  bool wait_for_turn(unsigned self) const;
  void turn(unsigned self);
  bool try_turn(unsigned self);

  std::array<site::Site*, 2> sites_;
  const Setup setup_;
  MachineClock clock_;
  // Of whose turn it is, as are the figures.
  Instant now_;
  bool is_measured_ = false;
  std::atomic<unsigned> whose_ = 0;
  std::atomic<size_t> left_ = 0;  // pairs of turns to be measured
  std::array<std::vector<double>, 2> ns_;
  std::atomic<bool> stop_ = false;
  std::array<std::thread, 2> threads_;
};

/// A site's turn, and nothing else is.
bool counted_turn(site::Site& site, Instant now);

}  // namespace cw::bench
