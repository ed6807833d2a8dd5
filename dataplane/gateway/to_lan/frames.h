// A frame on its way out, between the slot that brought it and the LAN: where its bytes lie, what
// it waits for, the rows that it stands in while it waits, and what became of it.
//
// All streams' frames lie in one stock, of which each stream has its part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "dataplane/base/assert.h"
#include "dataplane/base/memory/pool.h"
#include "dataplane/base/memory/ring.h"
#include "dataplane/base/memory/stock.h"
#include "dataplane/base/serial.h"
#include "dataplane/base/units.h"
#include "dataplane/core/counters.h"
#include "dataplane/core/lazy_memory.h"
#include "dataplane/gateway/options.h"
#include "dataplane/wire/slot.h"

namespace cw::gateway {

using BucketSeq = Serial<32>;

/// A byte of a message's stream: counted in one slot, from behind its header.
struct Spot {
  uint32_t slot = 0;
  uint16_t offset = 0;
};

/// A frame all of whose bytes have come.
struct ParsedFrame {
  FrameHeader header;
  MessageSeq seq;           ///< of its message
  uint32_t place = 0;       ///< of its message
  uint32_t slot = 0;        ///< where its header begins: its position in the stream
  Spot packet;              ///< where the IP packet begins
  bool is_marked = false;   ///< the packet that brought its first slot had CE
  bool is_settled = false;  ///< all that was sent before it has come or never will
};

inline constexpr uint32_t no_frame = UINT32_MAX;

/// Neighbours in a row of frames.
struct FrameLinks {
  uint32_t before = no_frame, after = no_frame;
};
struct FrameRow {
  uint32_t first = no_frame, last = no_frame;
};

/// A place in the table of frames: lent while a frame is held or waits to leave.
struct Frame {
  ParsedFrame parsed;
  bool is_held = false;
  Instant arrived;
  FrameLinks in_bucket, in_age, in_slot;  // while it is held
  uint32_t after_in_lane = no_frame;      // and when it is to leave
};

/// Places for the frames of all streams. Thread: one. Nothing allocates after the last join().
class FrameStock {
 public:
  explicit FrameStock(size_t count)
      : pool_(count, memory_), lent_(count), released_(count, &memory_) {}

  size_t count() const { return lent_.count(); }

 private:
  friend class FrameTable;

  LazyMemory memory_;
  Pool<Frame> pool_;
  Stock lent_;
  Ring<uint32_t> released_;  // of the stream that is being read
};

/// The frames of one stream, and their fates: each that is seen is out in the end, or dropped for a
/// reason; until then its message's memory stays. Thread: one. Nothing allocates.
class FrameTable {
 public:
  /// Frames of so many places of messages. `stock` and `drops` live longer.
  FrameTable(FrameStock& stock, uint32_t messages, Drops& drops)
      : pool_(stock.pool_),
        released_(stock.released_),
        portion_(stock.lent_.join()),
        lent_(new uint32_t[messages]()),
        drops_(drops) {}

  /// A place for one more of the message in `place`; null: there is none, and it is lost.
  Frame* try_take(uint32_t place) {
    ++seen_;
    if (!portion_.try_take()) {
      count(DropReason::hold_memory);
      return nullptr;
    }
    Frame* const frame = pool_.try_take();
    frame->parsed.place = place;
    frame->is_held = false;
    ++lent_[place];
    return frame;
  }
  /// It has been written into a packet of the LAN.
  void leave(uint32_t frame) {
    ++out_;
    give_back(frame);
  }
  void drop(uint32_t frame, DropReason reason) {
    count(reason);
    give_back(frame);
  }

  Frame& at(uint32_t frame) { return pool_.at(frame); }
  uint32_t index_of(const Frame& frame) const {
    return static_cast<uint32_t>(pool_.index_of(&frame));
  }
  /// Those of this stream that wait for nothing more, until whoever asked has taken them.
  Ring<uint32_t>& released() { return released_; }
  /// Few are left of all that the stream may have.
  bool is_short() const { return portion_.is_short(); }
  size_t lent_count() const { return portion_.held(); }
  size_t lent_of(uint32_t place) const { return lent_[place]; }
  uint64_t seen_count() const { return seen_; }
  uint64_t out_count() const { return out_; }
  const Drops::Snapshot& dropped() const { return dropped_; }

 private:
  void count(DropReason reason) {
    drops_.add(reason);
    ++dropped_.values[static_cast<size_t>(reason)];
  }
  void give_back(uint32_t frame) {
    uint32_t& lent = lent_[at(frame).parsed.place];
    CW_ASSERT(lent > 0);
    --lent;
    portion_.give_back();
    pool_.give_back_at(frame);
  }

  Pool<Frame>& pool_;
  Ring<uint32_t>& released_;
  Portion& portion_;
  std::unique_ptr<uint32_t[]> lent_;  // by place
  Drops& drops_;
  Drops::Snapshot dropped_;
  uint64_t seen_ = 0, out_ = 0;
};

}  // namespace cw::gateway
