// The order of frames within their buckets. A frame is released at once when it waits for nothing
// or for nothing more; else it is held until the frames before it are out, or the hole before it is
// given up:
//
//   exactly   all that was sent before the frame has come or never will: so the hole stays one
//   by time   the frame has been held for `hold`
//   by need   memory is short: the frame that has been held longest goes first
//
// Giving up never breaks the order: the lower numbers of the bucket that are here leave first, and
// those that come after that are late.
//
// Numbers are a peer's word, and one that is far too high would leave all that follow behind. So
// they are held against the stream: between two frames of a bucket lie no more frames than there is
// room for, and what stands further on bears the higher number [C-49]. A bucket that was led astray
// all the same refuses what is true; so when several frames in a row that are too far for it agree
// with each other, it goes to where they are.
//
// Of a bucket that was forgotten (buckets.h) nothing is known until its first frame is out.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dataplane/base/memory/ring.h"
#include "dataplane/base/memory/table.h"
#include "dataplane/base/units.h"
#include "dataplane/core/counters.h"
#include "dataplane/core/times/hole_times.h"
#include "dataplane/gateway/order/buckets.h"
#include "dataplane/gateway/to_lan/frames.h"
#include "dataplane/gateway/to_lan/slot_rows.h"

namespace cw::gateway {

struct OrderOptions {
  uint32_t messages = 16;  ///< as of the reader
  uint32_t data_slots_max = 2048;
  uint32_t slot_frames_max = 512;  ///< frames that can begin in one slot
  Duration hold = Duration::from_ms(250);
  /// Of every bucket in a new epoch. Zero, save where a test begins near the wrap.
  BucketSeq first_seq;
  MessageSeq first_message;  ///< of every epoch
};

/// Numbers passed over, by why; and frames held now.
struct OrderCounts {
  uint64_t missed_exactly = 0, missed_by_time = 0, missed_by_need = 0;
  uint64_t held = 0;
  uint64_t compared = 0;  ///< pairs of frames, to find the place of one: what numbers have cost
};

/// Thread: one. Cost: O(1) per frame in order, O(log n) per frame of n that come out of it.
class Order {
 public:
  /// `frames`, `rows` and `buckets` live longer.
  Order(const OrderOptions& options, FrameTable& frames, SlotRows& rows, BucketStock& buckets);

  /// A frame of the table whose `parsed` is set. Dropped when it has no place in the order: it is
  /// late, too far ahead, or the second of its number.
  void take(uint32_t frame, Instant now);
  /// All that was sent before the end of these slots has come or never will.
  void on_settled(uint32_t place, uint32_t slot_first, uint32_t slot_end);
  /// Memory is short: gives up the oldest hole. False when there is none.
  bool give_up_oldest();
  /// Gives up what has been held for too long.
  bool on_time(Instant now);
  Instant next_due() const;
  void rebase(Duration shift);
  /// Of frames that are held, too.
  void set_hold(Duration hold) { options_.hold = hold; }

  /// Drops all that it has, and begins anew.
  void reset();

  /// Frames that wait for nothing more, as they are to leave. Whoever asked for something of this
  /// takes them before anything else happens.
  Ring<uint32_t>& released() { return frames_.released(); }
  const OrderCounts& counts() const { return counts_; }
  /// Of the frames that waited for others, since the beginning: how long, as far as turns tell.
  const HoleTimes& holes() const { return holes_[0]; }
  /// What is released from here on is released now.
  void begin_turn(Instant now) { now_ = now; }

 private:
  /// What a bucket refused last for being too far ahead.
  struct Doubt {
    uint32_t epoch = 0;
    uint16_t bucket = 0;
    uint16_t agreeing = 0;  // frames in a row
    Front front;            // behind the last of them
  };
  static constexpr size_t doubt_count = 256;  // buckets share them
  static constexpr uint16_t agreeing_min = 4;

  int64_t slots_between(const Front& front, const ParsedFrame& frame) const;
  bool is_too_far(const Front& front, const ParsedFrame& frame) const;
  [[gnu::cold]] bool is_astray(const ParsedFrame& frame);
  [[gnu::cold]] void follow(Bucket& bucket, const ParsedFrame& frame);
  void hold(Bucket& bucket, uint32_t frame, Instant now);
  void run(Bucket& bucket);
  static void go_to(Front& front, BucketSeq next, const ParsedFrame& frame);
  void give_up_before(uint32_t frame, uint64_t& missed);
  void release(Bucket& bucket);
  void let_out(uint32_t frame) { frames_.released().grow() = frame; }
  void forget(uint32_t frame);
  /// Of a frame that waits in it.
  Bucket& bucket_of(const Frame& frame) { return *buckets_.find(frame.parsed); }
  FrameRow& slot_of(const ParsedFrame& frame) { return rows_.held(frame.place, frame.slot); }
  void link(FrameRow& row, FrameLinks Frame::* links, uint32_t frame, uint32_t before);
  void unlink(FrameRow& row, FrameLinks Frame::* links, uint32_t frame);

  OrderOptions options_;
  FrameTable& frames_;
  SlotRows& rows_;
  BucketTable buckets_;
  Table<Doubt> doubts_;
  Table<HoleTimes> holes_;  // one, where it takes nothing until something waits
  FrameRow age_;            // frames held, the oldest first
  OrderCounts counts_;
  Instant now_;
};

}  // namespace cw::gateway
