// How much of a queue is there because the gateway itself stood still: what came meanwhile waited
// for nobody's sake, and no sender is to be told of it. It drains only as fast as the line has room
// besides what goes on coming, so that it counts for sixteen times as long, less and less.
#pragma once

#include <algorithm>

#include "dataplane/base/units.h"

namespace cw::gateway {

class Standstill {
 public:
  void add(Duration pause, Duration most, Instant now) {
    rest_ = std::min(rest(now) + pause, most);
    from_ = now;
  }
  /// Of what waits now.
  Duration rest(Instant now) const {
    return std::max(rest_ - (now - from_) / slowness, Duration());
  }
  /// Nothing waits: it has drained, unless what came during the pause has not been read yet.
  void end(Instant now) {
    if (now - from_ > reading) rest_ = Duration();
  }

 private:
  static constexpr int64_t slowness = 16;
  static constexpr Duration reading = Duration::from_ms(5);

  Duration rest_;
  Instant from_;
};

}  // namespace cw::gateway
