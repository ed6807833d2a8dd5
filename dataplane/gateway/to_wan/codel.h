// When a queue that stands tells its senders (RFC 8289): a burst may wait as long as it likes if it
// drains within an interval; a queue that was longer than `target` for all of one is a standing
// one, and from then on one frame after another is dropped or marked, each sooner than the one
// before by the square root of their number, until it is short again.
#pragma once

#include <cmath>
#include <cstdint>

#include "dataplane/base/units.h"

namespace cw::gateway {

struct CodelLimits {
  Duration target = Duration::from_ms(5);
  Duration interval = Duration::from_ms(100);  ///< in which a sender will have heard
};

/// Of one row of frames. Thread: one. Cost: a comparison or two; a root per frame that is told.
class Codel {
 public:
  /// A frame that has waited for `sojourn` is to leave. Whether its sender must be told.
  bool judge(Duration sojourn, const CodelLimits& limits, Instant now) {
    const bool is_standing = stands(sojourn, limits, now);
    if (!is_telling_) return is_standing && begin(limits, now);
    if (!is_standing) return is_telling_ = false;
    if (now < next_) return false;
    ++count_;
    next_ += step(limits);
    return true;
  }
  /// Nothing waits.
  void rest() {
    standing_from_ = Instant::never();
    is_telling_ = false;
  }

 private:
  /// Whether no frame of a whole interval has waited for less than the target.
  bool stands(Duration sojourn, const CodelLimits& limits, Instant now) {
    if (sojourn < limits.target) {
      standing_from_ = Instant::never();
      return false;
    }
    if (standing_from_ == Instant::never()) standing_from_ = now + limits.interval;
    return now >= standing_from_;
  }
  bool begin(const CodelLimits& limits, Instant now) {
    // Soon after the last time, what was enough then is the place to begin.
    const uint32_t before = count_ - count_before_;
    const bool is_soon = now - next_ < limits.interval * 16;
    count_ = is_soon && before > 1 ? before : 1;
    count_before_ = count_;
    next_ = now + step(limits);
    return is_telling_ = true;
  }
  Duration step(const CodelLimits& limits) const {
    return limits.interval.scaled(1 / std::sqrt(static_cast<double>(count_)));
  }

  Instant standing_from_ = Instant::never();
  Instant next_;  // time to tell
  uint32_t count_ = 0, count_before_ = 0;
  bool is_telling_ = false;
};

}  // namespace cw::gateway
