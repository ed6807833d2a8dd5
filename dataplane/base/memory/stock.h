// A number of equal things for many borrowers: packets, messages, frames. Each borrower has a part
// of his own, which is there for him whatever others do; what is beyond is common, and goes to who
// comes first.
//
//   |  own of a  |  own of b  |  own of c  |       common       |
//
// So one who never gives anything back keeps nobody from his own part, and one who is busy while
// others rest has all that is common besides. It counts; what is lent lies with whoever lends it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>

#include "dataplane/base/assert.h"

namespace cw {

/// What one borrower has of a stock, which outlives him. Thread: the stock's. Cost: a comparison.
class Portion {
 public:
  size_t held() const { return held_; }
  size_t own() const { return own_; }
  /// Less than an eighth is left of what he may have now.
  bool is_short() const {
    if (held_ < ample_) return false;
    return 8 * room() <= held_ + room();
  }
  /// How many more he may have now.
  size_t room() const { return own_ - std::min(own_, held_) + common_; }
  bool has_room(size_t count) const { return held_ + count <= own_ || count <= room(); }
  /// One more; false when there is none.
  bool try_take() {
    if (held_ >= own_ && common_ == 0) return false;
    if (held_++ >= own_) --common_;
    return true;
  }
  /// has_room() has said so.
  void take(size_t count = 1) {
    held_ += count;
    if (held_ <= own_) return;
    const size_t beyond = std::min(count, held_ - own_);
    CW_ASSERT(beyond <= common_);
    common_ -= beyond;
  }
  void give_back(size_t count = 1) {
    CW_ASSERT(count <= held_);
    if (held_ > own_) common_ += std::min(count, held_ - own_);
    held_ -= count;
  }

 private:
  friend class Stock;
  explicit Portion(size_t& common) : common_(common) {}

  size_t held_ = 0, own_ = 0;
  size_t ample_ = 0;  // seven eighths of his own
  size_t& common_;    // left, of all
};

/// Thread: one. Allocates when somebody joins, and never else.
class Stock {
 public:
  /// So many things, or SIZE_MAX: without end.
  explicit Stock(size_t count) : count_(count), common_(count) {}
  Stock(const Stock&) = delete;
  Stock& operator=(const Stock&) = delete;

  /// How many there must be for `borrowers` where one alone would need `alone`: that once in parts,
  /// of one thing at least, and half of it in common.
  static constexpr size_t count_for(size_t alone, size_t borrowers) {
    return borrowers <= 1 ? alone : std::max(alone, borrowers) / 2 * 3 + 3;
  }

  /// One borrower more; until all have joined nothing is lent. Two thirds are in parts, all equal;
  /// who is alone has everything.
  Portion& join() {
    CW_ASSERT(held() == 0);
    portions_.push_back(Portion(common_));
    const size_t in_parts = portions_.size() == 1 ? count_ : count_ / 3 * 2;
    const size_t own = in_parts / portions_.size();
    for (Portion& each : portions_) {
      each.own_ = own;
      each.ample_ = own - own / 8;
    }
    common_ = count_ - own * portions_.size();
    return portions_.back();
  }

  /// So many more things, before anything is lent: to be followed by join().
  void grow(size_t count) {
    CW_ASSERT(held() == 0);
    count_ += count;
  }

  size_t count() const { return count_; }
  /// Of all borrowers.
  size_t held() const {
    size_t sum = 0;
    for (const Portion& each : portions_) sum += each.held_;
    return sum;
  }

 private:
  size_t count_;
  size_t common_;
  std::deque<Portion> portions_;  // which stay where they are
};

}  // namespace cw
