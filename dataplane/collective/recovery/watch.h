// What the packets of a source tell of holes before they have all come: a slot that others of the
// same source have overtaken for longer than packets overtake each other is lost. Costs a
// comparison a packet where none is missing.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "dataplane/base/units.h"

namespace cw::group {

/// Of the source of a chain that sends. Thread: one. Allocates nothing.
class Watch {
 public:
  void begin(uint16_t source) {
    *this = {};
    source_ = source;
    is_begun_ = true;
  }
  void end() { is_begun_ = false; }
  uint16_t source() const { return source_; }
  bool is_of(uint16_t source) const { return is_begun_ && source_ == source; }

  /// The nth slot of its part has come, from its source itself.
  void note(uint32_t nth, Instant now) {
    if (nth < next_) return;
    if (nth > next_) mark(nth, now);
    next_ = nth + 1;
    heard_ = now;
  }
  /// Slots from the first on of which those that are missing are lost, if packets overtake each
  /// other by `reorder` at most.
  uint32_t settle(Duration reorder, Instant now) {
    while (count_ > 0 && marks_[first_].at + reorder <= now) {
      settled_ = marks_[first_].end;
      first_ = (first_ + 1) % marks_.size();
      --count_;
    }
    return settled_;
  }
  /// When settle() will return more.
  Instant due(Duration reorder) const {
    return count_ == 0 ? Instant::never() : marks_[first_].at + reorder;
  }
  uint32_t next() const { return next_; }  ///< behind the highest that has come
  Instant heard() const { return heard_; }

  void on_gap(Duration gap) {
    heard_ += gap;
    for (Mark& each : marks_) each.at += gap;
  }

 private:
  /// Below `end` there are holes, over which others have come.
  struct Mark {
    uint32_t end = 0;
    Instant at;
  };

  void mark(uint32_t end, Instant now) {
    // Without room the last one waits for both.
    if (count_ < marks_.size()) ++count_;
    marks_[(first_ + count_ - 1) % marks_.size()] = {end, now};
  }

  std::array<Mark, 8> marks_;
  size_t first_ = 0, count_ = 0;
  uint32_t next_ = 0, settled_ = 0;
  Instant heard_;
  uint16_t source_ = 0;
  bool is_begun_ = false;
};

}  // namespace cw::group
