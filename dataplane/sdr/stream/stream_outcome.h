// What becomes of what a stream carries, as its receiver sees it.
#pragma once

#include <cstdint>

#include "dataplane/base/units.h"
#include "dataplane/core/times/hole_times.h"

namespace cw::sdr {

/// Of one direction of a QP, since some moment: what two of an epoch of the link differ by has come
/// between them.
struct StreamOutcome {
  Instant at;
  uint16_t policy_epoch = 0;  ///< of who decides there about what is new
  uint64_t frames_out = 0;
  uint64_t frames_given_up = 0;  ///< never seen
  uint64_t frames_late = 0;      ///< those behind them were out
  uint64_t slots_by_code = 0;    ///< made of others
  uint64_t slots_behind = 0;     ///< that came after a later one: sent again, or overtaken
  HoleTimes holes;               ///< of frames that waited for others
};

/// Who reads along and knows what has become of the frames in the slots.
class FrameTeller {
 public:
  /// Fills in what is said of frames; it only grows. Thread: the endpoint's worker.
  virtual void tell(StreamOutcome& outcome) const = 0;

 protected:
  ~FrameTeller() = default;
};

}  // namespace cw::sdr
