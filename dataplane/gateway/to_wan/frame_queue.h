// Frames of a class that wait until the stream has room: one row, or one per flow, served in turns
// (RFC 8290) so that who sends little never waits behind who sends much.
//
//   log      | oldest | frame | gone | frame | frame |   .. free ..   |      bytes in blocks,
//                 \______________________/ \_____                            as they came
//   rows     flow 7: oldest -> frame     flow 9: frame -> frame
//   turns    new: 9                      old: 7
//
// Frames lie in the order in which they came, whole, each behind its note. One that leaves before
// its elders only becomes a gap, and a block is free again when the oldest in it have left: memory
// is as much as came since the oldest came, which is what a queue that is bounded in time needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "dataplane/base/units.h"
#include "dataplane/gateway/ingress/ingress.h"
#include "dataplane/gateway/to_wan/codel.h"
#include "dataplane/gateway/to_wan/queue_memory.h"

namespace cw::gateway {

/// The note before a frame's bytes.
struct WaitingFrame {
  Admitted how;
  bool is_gone = false;
  bool is_judged = false;  ///< by Codel, and may leave
  Instant since;           ///< when it came
  uint32_t units = 0;      ///< of the log, this note included
  uint32_t next = 0;       ///< of its flow: where it lies
};
static_assert(sizeof(WaitingFrame) == QueueMemory::unit_bytes);

/// Thread: one. Nothing allocates after construction.
class FrameQueue {
 public:
  /// Of the log, which lies in `memory`, notes included.
  FrameQueue(QueueMemory& memory, bool is_fair);

  bool is_empty() const { return frames_ == 0; }
  uint64_t frames() const { return frames_; }
  /// Of frames, without their notes.
  uint64_t bytes() const { return bytes_; }

  /// Copies a frame behind all others of its flow. False when the log has no room.
  bool try_push(const Admitted& how, std::span<const uint8_t> packet, Instant now);
  /// Whose turn it is; not empty. The same until it is popped.
  WaitingFrame& next();
  std::span<uint8_t> packet_of(WaitingFrame& frame) {
    return {reinterpret_cast<uint8_t*>(&frame + 1), frame.how.bytes};
  }
  /// Of the row that the frame is in.
  Codel& codel_of(const WaitingFrame& frame) { return flow_of(frame).codel; }
  /// Whether nothing waits behind it in its row.
  bool is_last(const WaitingFrame& frame) const {
    return flows_[frame.how.bucket & flow_mask_].frames == 1;
  }
  /// Takes next() out: it leaves, or is dropped.
  void pop_next();
  /// Drops the next frame of the flow that has most waiting: that which had, of all that were
  /// looked at when something of theirs came. False when it is the flow of `how`, or nothing waits.
  bool try_drop_fattest(const Admitted& how);
  /// Drops the frame that came first, which makes room in the log; not empty.
  void drop_oldest();
  void clear();

 private:
  static constexpr uint16_t no_flow = UINT16_MAX;
  static constexpr size_t fair_flows = 1024;
  static constexpr int64_t share_bytes = 1514;  // of a flow, in each round

  enum class Place : uint8_t { None, New, Old };
  struct Flow {
    uint32_t first = 0, last = 0;  // in the log, while there are frames
    uint32_t frames = 0, bytes = 0;
    uint16_t after = no_flow;  // in its list
    Place place = Place::None;
    int64_t due = 0;  // bytes of its share
    Codel codel;
  };
  struct List {
    uint16_t first = no_flow, last = no_flow;
  };

  WaitingFrame& at(uint32_t unit) { return *reinterpret_cast<WaitingFrame*>(memory_->at(unit)); }
  Flow& flow_of(const WaitingFrame& frame) { return flows_[frame.how.bucket & flow_mask_]; }
  bool try_reserve(uint32_t units);
  bool try_grow();
  void append(List& list, uint16_t flow);
  uint16_t take_first(List& list);
  /// The flow whose turn it is.
  Flow& turn();
  void take_out(Flow& flow);
  void reclaim();
  void shrink();

  QueueMemory* memory_;
  Portion* blocks_;
  uint32_t head_ = 0, tail_ = 0;  // where the oldest lies, and the next will
  uint32_t left_ = 0;             // of the last block, from tail_ on
  uint32_t used_ = 0;             // units from head_ to tail_, gaps and all
  uint16_t flow_mask_, fattest_ = 0;
  std::unique_ptr<Flow[]> flows_;
  List new_, old_;
  uint64_t frames_ = 0, bytes_ = 0;
};

}  // namespace cw::gateway
