// What a stream promises of memory that it shares with others: a message for each receive that is
// posted. What is its own it promises at once. What is common it promises as its peer takes it up,
// twice what he begins in an RTT ahead, for so late comes his word of it; since a promise is not
// taken back, what is promised to one who then rests is lost to others.
#pragma once

#include <algorithm>
#include <cstdint>

#include "dataplane/base/memory/stock.h"
#include "dataplane/base/units.h"

namespace cw::sdr {

/// Thread: the stream's.
class Promises {
 public:
  /// Of this portion, which outlives it.
  void share(Portion& portion) { portion_ = &portion; }

  /// Whether one more may be made, while so many have not been taken up.
  bool has_room(uint32_t unbegun) const {
    if (portion_->held() < portion_->own()) return true;
    return unbegun <= 2 * std::max(before_, count_) && portion_->has_room(1);
  }
  void make() { portion_->take(); }
  /// A message has begun.
  void on_begun(Instant now, Duration rtt) {
    const Duration since = now - since_;
    if (since >= rtt) {
      before_ = since < rtt * 2 ? count_ : 0;
      count_ = 0;
      since_ = now;
    }
    ++count_;
  }
  void end() { portion_->give_back(); }
  /// The epoch is over, and with it so many.
  void reset(uint32_t count) {
    portion_->give_back(count);
    before_ = count_ = 0;
  }

 private:
  Portion* portion_ = nullptr;
  Instant since_;
  uint32_t count_ = 0, before_ = 0;  // begun in this RTT, and in that before
};

}  // namespace cw::sdr
