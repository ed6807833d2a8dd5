// The frames of one bucket that wait for lower numbers, the lowest first.
//
//   nearly all come in order      first -> ... -> last       a row that grows at its end
//   what was sent again does not  stragglers                 a pairing heap
//
// A peer chooses the numbers. So nothing is ever walked along to find a place: a frame is pushed at
// once, and what pops stragglers costs the logarithm of their count, whatever their order was.
// Frames are linked by their `in_bucket`; in the heap `before` is a child and `after` a sibling.
#pragma once

#include <cstdint>

#include "dataplane/gateway/to_lan/frames.h"

namespace cw::gateway {

/// Of a frame in turn or behind.
inline BucketSeq seq_of(const Frame& frame) { return BucketSeq(frame.parsed.header.bucket_seq); }
/// Such frames stand before the one that bears their number, in any order.
inline bool is_behind(const Frame& frame) {
  return frame.parsed.header.order == FrameOrder::Behind;
}

/// Numbers in it lie less than half of all numbers apart.
class HeldRow {
 public:
  bool is_empty() const { return first_ == no_frame && stragglers_ == no_frame; }
  /// There must be one.
  uint32_t front(FrameTable& frames) const {
    return is_straggler_first(frames) ? stragglers_ : first_;
  }
  /// `compared` counts the pairs of frames that were looked at.
  void push(FrameTable& frames, uint32_t frame, uint64_t& compared);
  void pop_front(FrameTable& frames, uint64_t& compared);

 private:
  bool is_straggler_first(FrameTable& frames) const;
  static uint32_t meld(FrameTable& frames, uint32_t a, uint32_t b, uint64_t& compared);
  static uint32_t meld_pairs(FrameTable& frames, uint32_t siblings, uint64_t& compared);

  uint32_t first_ = no_frame, last_ = no_frame;
  uint32_t stragglers_ = no_frame;  // the lowest of them
};

}  // namespace cw::gateway
