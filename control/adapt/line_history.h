// What a line loses now, told from what it has lost since it last changed.
//
//   now -->  [1][1][1][2][2][4][4][4][8] ...      packets, losses, runs of losses by time; what is
//             new                    old          old is told apart less finely
//             '- does it lose otherwise than what is before it? then that is forgotten
//
// A fixed window is wrong twice: it is late to see that a line has become bad, and forgets too soon
// how rarely a good one loses. So the window grows for as long as all of it looks alike (as ADWIN
// does it; Bifet and Gavalda, 2007): a line that loses one packet in a million is known to after
// minutes, and one that begins to lose is seen after a handful of losses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/base/units.h"
#include "dataplane/core/path/paths.h"

namespace cw::adapt {

/// Of packets that left, as the receiver counted them.
struct LineCounts {
  uint64_t arrived = 0, lost = 0;
  uint64_t bursts = 0;  ///< unbroken runs that the lost ones came in

  void add(const LineCounts& other);
  uint64_t packets() const { return arrived + lost; }
};

/// As a line is, with how sure that is.
struct LineLoss {
  Share share;               ///< of packets, with 95 % confidence; anywhere where there are none
  double burst_packets = 1;  ///< mean length of a run
  LineCounts counts;         ///< from which it was told
  Duration age;              ///< the time in which they came
  bool has_lost() const { return counts.bursts > 0; }
};

/// Thread: one. Allocates little, and is bounded.
class LineHistory {
 public:
  /// Nothing older is looked at.
  static constexpr Duration age_max = Duration::from_s(600);

  /// What has been counted since the last call.
  void add(const LineCounts& counts, Instant now);
  LineLoss loss(Instant now) const;
  /// In how many it is kept.
  size_t parts() const { return parts_.size(); }

 private:
  /// Neighbours of one size are joined when there are so many of it.
  static constexpr size_t alike_max = 6;
  struct Part {
    Instant begin;
    LineCounts counts;
    unsigned joined = 0;  // 2^joined calls
  };
  void join();
  void cut();

  std::vector<Part> parts_;  // the oldest first
  Instant last_ = Instant::never();
};

}  // namespace cw::adapt
