// Frames that wait for their time: their bytes in an arena of fixed memory, their order in a queue.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dataplane/base/assert.h"
#include "dataplane/base/memory/ring.h"
#include "dataplane/base/units.h"
#include "dataplane/core/heap.h"

namespace cw::wan {

/// One buffer per frame, shared by its copies.
class FrameArena {
 public:
  FrameArena(size_t frames, size_t frame_bytes_max)
      : stride_((frame_bytes_max + 63) / 64 * 64),
        bytes_(new uint8_t[frames * stride_]),  // left untouched: memory costs when it is used
        frames_(frames) {
    free_.reserve(frames);
    for (size_t i = frames; i-- > 0;) free_.push_back(static_cast<uint32_t>(i));
  }

  size_t free_count() const { return free_.size(); }
  size_t frame_bytes_max() const { return stride_; }

  /// A frame of `bytes` (at most frame_bytes_max) that is given back `copies` times. There must be
  /// a free one. The last that was given back is taken first: its bytes are still in the cache.
  uint32_t take(size_t bytes, uint8_t copies) {
    CW_ASSERT(!free_.empty() && bytes <= stride_ && copies > 0);
    const uint32_t frame = free_.back();
    free_.pop_back();
    frames_[frame] = {static_cast<uint32_t>(bytes), copies};
    return frame;
  }
  std::span<uint8_t> bytes(uint32_t frame) {
    return {bytes_.get() + frame * stride_, frames_[frame].bytes};
  }
  void give_back(uint32_t frame) {
    CW_ASSERT(frames_[frame].copies_out > 0);
    if (--frames_[frame].copies_out == 0) free_.push_back(frame);
  }

 private:
  struct Frame {
    uint32_t bytes = 0;
    uint8_t copies_out = 0;
  };
  size_t stride_;
  std::unique_ptr<uint8_t[]> bytes_;
  std::vector<Frame> frames_;
  std::vector<uint32_t> free_;
};

/// Earliest first; equal times in the order of pushing. Most frames leave in the order in which
/// they came and cost no more than a ring; those that overtake or are overtaken lie in a heap.
class ReleaseQueue {
 public:
  struct Entry {
    Instant at;
    uint64_t order = 0;
    uint32_t frame = 0;
  };

  explicit ReleaseQueue(size_t capacity) : in_order_(capacity), others_(capacity) {}

  size_t count() const { return in_order_.count() + others_.count(); }
  Instant earliest() const {
    const Instant ring = in_order_.is_empty() ? Instant::never() : in_order_.front().at;
    return others_.is_empty() ? ring : std::min(ring, others_.front().at);
  }
  /// There must be room: at most `capacity` are held.
  void push(Instant at, uint32_t frame) {
    const Entry entry{at, order_++, frame};
    if (at < latest_in_order_) return put_back(entry);
    latest_in_order_ = at;
    const bool is_taken = in_order_.try_push(entry);
    CW_ASSERT(is_taken);
  }
  /// Takes the earliest; there must be one.
  Entry pop() {
    const bool from_ring = others_.is_empty() ||
                           (!in_order_.is_empty() && !Later()(in_order_.front(), others_.front()));
    return from_ring ? in_order_.pop() : others_.pop();
  }
  /// Undoes a pop: the entry has its old place in the order.
  void put_back(const Entry& entry) {
    const bool is_taken = others_.try_push(entry);
    CW_ASSERT(is_taken);
  }

 private:
  struct Later {
    bool operator()(const Entry& a, const Entry& b) const {
      return a.at != b.at ? a.at > b.at : a.order > b.order;
    }
  };
  uint64_t order_ = 0;
  Instant latest_in_order_;
  Ring<Entry> in_order_;
  Heap<Entry, Later> others_;
};

}  // namespace cw::wan
