// The second half of a frame's way to the WAN: what one class sends to one peer. Numbers the frames
// of each bucket and fills slots, as long as the stream has little waiting; what is more waits
// here, where it can still be marked, dropped or overtaken.
//
//   frame -- nothing waits ------------------------------> slot writer -> stream: `ahead`, 3 ms
//        \-- FrameQueue: one row, or one per flow -- Codel --^
//
// How much may wait follows from the measured RTT, and half of it may stand: CUBIC gives up three
// tenths of its window, and acknowledgements stop for an RTT while others wait in order for what is
// mended. What stands because the gateway itself stood still does not count.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "dataplane/base/result.h"
#include "dataplane/core/counters.h"
#include "dataplane/gateway/ingress/flow.h"
#include "dataplane/gateway/ingress/ingress.h"
#include "dataplane/gateway/to_wan/frame_queue.h"
#include "dataplane/gateway/to_wan/slot_writer.h"
#include "dataplane/gateway/to_wan/standstill.h"

namespace cw::gateway {

/// What a class may wait for, by the RTT to its peer.
struct QueueTimes {
  Duration most;
  CodelLimits codel;

  /// `queue`: most, where the class says so.
  static QueueTimes of(const ClassOptions& options, Duration rtt);
};

class SendLane {
 public:
  /// `stream`, `memory`, `counters` and `drops` outlive the lane. Errors: those of SlotWriter.
  static Result<SendLane> make(const ClassOptions& options, sdr::Source stream, QueueMemory& memory,
                               Counters& counters, Drops& drops);

  /// An epoch is in force: numbers begin anew. What waits is sent in it.
  void restart(Instant now);
  /// The part of the link's rate that the class may count on, and all of it.
  void set_rate(Rate share, Rate line);
  void set_rtt(Duration rtt);
  /// What the class says of hold, queue, mark and block_age, from now on and of what waits, too.
  /// Allocates nothing.
  void change(const ClassOptions& options);
  /// Frames wait here, though the stream has room, until it is let go: they are not to overtake.
  void hold_back() {
    is_held_back_ = true;
    size_queue();
  }
  void let_go() {
    is_held_back_ = false;
    size_queue();
  }
  /// If all has been given to the stream, the peer hears that nothing more follows for a while.
  void finish(Instant now) {
    if (is_idle()) writer_.finish(now);
  }
  /// The gateway stood still: that was no silence of the hosts, and what came meanwhile no queue.
  void on_gap(Duration gap, Instant now) {
    writer_.rebase(gap);
    standstill_.add(gap, times_.most, now);
  }

  /// Takes a frame, or says why not. Cost: hot; one copy, and one more of a frame that must wait.
  bool try_offer(const Admitted& admitted, std::span<uint8_t> packet, Instant now, DropReason& why);
  /// What waits goes to the stream, as far as that has room. Marks CE in place.
  void send_waiting(Instant now);
  void end_turn(Instant now);
  void on_time(Instant now) { writer_.on_time(now); }
  Instant next_due() const { return writer_.next_due(); }
  /// Frames wait, and the stream will soon have nothing to send.
  bool is_hungry() const;

  /// The queue is half full.
  bool is_pressed() const { return waiting_bytes() > queue_bytes_max_ / 2; }

  const SlotWriter& writer() const { return writer_; }
  const FrameQueue& queue() const { return queue_; }
  bool is_idle() const { return queue_.is_empty() && stream_.waiting_bytes() == 0; }
  /// Here and in the stream.
  uint64_t waiting_bytes() const { return queue_.bytes() + stream_.waiting_bytes(); }
  uint64_t queue_bytes_max() const { return queue_bytes_max_; }

 private:
  SendLane(const ClassOptions& options, const SlotWriter& writer, QueueMemory& memory,
           Counters& counters, Drops& drops);

  Appended append(const Admitted& how, std::span<const uint8_t> packet, Instant since, Instant now);
  bool try_wait(const Admitted& how, std::span<const uint8_t> packet, Instant now);
  bool try_send_next(Instant now);
  bool may_leave(WaitingFrame& frame, Instant now);
  void drop_next(DropReason reason);
  bool try_mark(WaitingFrame& frame);
  DropReason reason_when_full() const {
    return has_places_ ? DropReason::wan_queue_full : DropReason::wan_places_full;
  }
  void size_queue();

  sdr::Source stream_;
  Counters* counters_;
  Drops* drops_;
  SlotWriter writer_;
  BucketSequences sequences_;
  FrameQueue queue_;
  Standstill standstill_;
  ClassOptions options_;
  QueueTimes times_;
  Duration rtt_;  // zero: not known
  Rate share_, line_;
  uint64_t queue_bytes_max_ = 0, ahead_bytes_max_ = 0;
  bool has_places_ = true;  // of messages, when a frame was last written
  bool is_held_back_ = false;
  uint64_t sent_told_ = 0, lost_told_ = 0;
};

}  // namespace cw::gateway
