// What may leave to the LAN, and when. Frames of each stream stand in a lane of two rows, those
// that wait for no order first; the pacer lets them through at `rate`, lane by lane in turn, so
// that no stream can take more than its share from another; behind it they wait for the port, for a
// bounded time, and only what the port has a packet for is copied out of the memory it arrived in.
//
//   stream -> at once --.
//                       +- lane --.
//   stream -> in turn --'         |
//                         lane ---+- pacer -> waits for the port: marked, then dropped -> copied
//                         lane ---'
//
// Congestion that the WAN marked on the packet of a frame's first slot is passed on to the frame
// (RFC 6040); a sender marks its packets as capable only when every frame in them is, so a frame
// that is not is delivered as it came, and counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/base/memory/ring.h"
#include "dataplane/base/units.h"
#include "dataplane/core/counters.h"
#include "dataplane/core/lazy_memory.h"
#include "dataplane/gateway/to_lan/frames.h"
#include "dataplane/gateway/to_lan/slot_rows.h"
#include "dataplane/port.h"

namespace cw::gateway {

struct ReleaseOptions {
  Rate rate = Rate::from_gbps(1);
  uint32_t burst_bytes = 64 << 10;         ///< that may leave at once after an idle time
  Duration queue = Duration::from_ms(10);  ///< a frame waits for the port so long, and is dropped
  bool mark = true;                        ///< CE above half of `queue`
  bool decrement_ttl = false;              ///< one hop is taken off here
  size_t frames_max = 65'536;              ///< of all streams together
};

/// Thread: one. Cost: O(1) per frame, plus the copy.
class Release {
 public:
  class Lane;

  Release(const ReleaseOptions& options, Port& lan, Counters& counters);

  /// A frame of the lane's table, until it leaves or is dropped.
  void push(Lane& lane, uint32_t frame);
  /// Fills `out` from the front with packets of the port, written and to be sent now.
  size_t collect(std::span<Packet*> out, Instant now);
  /// Drops what is queued of one stream, whose epoch is over.
  void forget(Lane& lane);

  /// What comes in turn waits in the lane until let_go(), however long that takes.
  static void hold_back(Lane& lane);
  void let_go(Lane& lane);
  /// What comes in turn from here on is late, since others have gone before; or no longer.
  static void set_late(Lane& lane, bool is_late);

  void set_rate(Rate rate) { options_.rate = rate; }
  /// Of frames that wait already, too.
  void set_queue(Duration queue) { options_.queue = queue; }
  Instant next_due() const;
  void rebase(Duration shift);
  size_t queued_count() const { return waiting_ + ready_.count(); }

 private:
  struct Entry {
    Lane* lane = nullptr;
    uint32_t frame = 0;
    uint16_t bytes = 0;
    bool is_marked = false;  // by the WAN
    Instant ready;           // let through by the pacer
  };

  void pace(Instant now);
  void enter(Lane& lane);
  uint32_t let_through(Lane& lane, Instant now);
  void leave(Lane& before);
  void drop_all(Lane& lane);
  void expire(Instant now);
  size_t write_burst(std::span<Packet*> packets, Instant now);
  bool try_write(const Entry& entry, Packet& packet, Instant now);
  void mark(const Entry& entry, std::span<uint8_t> frame, Instant now);

  ReleaseOptions options_;
  Port& lan_;
  Counters& counters_;
  uint32_t lan_bytes_max_;  // of a frame
  Lane* last_ =
      nullptr;          // of the lanes with frames, in a circle: behind it stands whose turn it is
  size_t waiting_ = 0;  // frames in lanes
  LazyMemory memory_;
  Ring<Entry> ready_;  // for the port
  Instant line_free_;  // by the pacer
  Instant paced_at_;   // last asked
  Duration pause_;     // of the machine's that is still to be made up for
  Instant retry_at_;   // the port had no packet; not asked again before
};

/// What one stream has waiting. Its owner forgets it before either of them ends.
class Release::Lane {
 public:
  /// Of `frames`, whose bytes lie in `slots`; both live longer.
  Lane(FrameTable& frames, const SlotRows& slots) : frames_(frames), slots_(slots) {}
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  bool is_held_back() const { return is_held_back_; }
  /// Something waits for let_go().
  bool has_held_back() const { return held_back_.first != no_frame; }

 private:
  friend class Release;

  bool is_empty() const { return at_once_.first == no_frame && in_turn_.first == no_frame; }
  void push(FrameRow& row, uint32_t frame) {
    frames_.at(frame).after_in_lane = no_frame;
    (row.first == no_frame ? row.first : frames_.at(row.last).after_in_lane) = frame;
    row.last = frame;
  }
  /// Not of a row that is empty.
  uint32_t pop(FrameRow& row) {
    const uint32_t frame = row.first;
    row.first = frames_.at(frame).after_in_lane;
    return frame;
  }

  FrameTable& frames_;
  const SlotRows& slots_;
  FrameRow at_once_, in_turn_, held_back_;
  bool is_held_back_ = false, is_late_ = false;
  Lane* next_ = nullptr;   // in the circle; null: not in it
  int64_t bytes_due_ = 0;  // of its share; negative: it has had more
};

}  // namespace cw::gateway
