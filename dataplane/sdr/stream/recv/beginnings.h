// How many messages a peer begins in an RTT: what he must be promised ahead, for his word of it
// comes so late, and no more than twice that, since what is promised to one who then rests is lost
// to others.
#pragma once

#include <algorithm>
#include <cstdint>

#include "dataplane/base/units.h"

namespace cw::sdr {

class Beginnings {
 public:
  void add(Instant now, Duration rtt) {
    const Duration since = now - since_;
    if (since >= rtt) {
      before_ = since < rtt * 2 ? count_ : 0;
      count_ = 0;
      since_ = now;
    }
    ++count_;
  }
  /// Promises that have not been taken up: enough for twice as fast.
  uint32_t ahead() const { return 1 + 2 * std::max(before_, count_); }

 private:
  Instant since_;
  uint32_t count_ = 0, before_ = 0;  // in this RTT, and in that before
};

}  // namespace cw::sdr
