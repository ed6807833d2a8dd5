// Frames into slots: one stream's sending end (SPEC 7).
//
//   frames    |h|  frame 1  |h| frame 2 |h|        frame 3         |
//   slots     |H|..............|H|..............|H|........|           the last one short
//   packets   each slot is written where it is sent from
//
// A frame may straddle slots, never messages: one that does not fit what is left of its message
// ends it. A slot goes to the stream when it is full or its turn ends, so that a gateway delays a
// frame by no more than its own turn; a message ends when it is full or nothing came for an RTT.
//
// Memory is the WAN port's packets, which the stream keeps until nobody reads a slot any more; a
// frame is taken when there are packets for all of it. A message is closed and forgotten in one
// breath.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "dataplane/base/result.h"
#include "dataplane/base/units.h"
#include "dataplane/sdr/source.h"
#include "dataplane/wire/slot.h"

namespace cw::gateway {

enum class Appended : uint8_t {
  Taken,
  NoRoom,  ///< all places of messages, or packets, are in use: the receiver or the link is behind
  Broken,  ///< there is no epoch, or its end came while the frame was being taken
};

/// What a slot takes over from its frames.
struct FrameMarks {
  uint8_t ecn = 0, dscp = 0;
  Instant since;  ///< when it came from its host: what it may be held for counts from there
};

class SlotWriter {
 public:
  /// For a stream that is appended slot by slot; it outlives the writer. No epoch need be in force.
  /// `pads`: slots that leave short are filled up with zeros. Errors: messages too small for the
  /// largest frame in the smallest slots.
  static Result<SlotWriter> make(sdr::Source stream, bool pads = false);

  sdr::Source stream() const { return stream_; }
  /// A new epoch: begins anew with what both ends agreed on. What was in an unfinished slot is
  /// lost.
  void restart(Instant now);
  void set_rtt(Duration rtt) { silence_ = rtt; }
  /// A pause of the machine was no silence of the hosts.
  void rebase(Duration shift) { last_append_ += shift; }

  /// Copies a frame into the stream; header.bytes are those of `packet`, and `marks` its own. A
  /// slot shows the wire ECT only if all whose frames touch it would understand, and a CE stays
  /// where it is; it is as old as its first frame. Cost: hot; one copy of the bytes, no allocation.
  Appended append(const FrameHeader& header, std::span<const uint8_t> packet, FrameMarks marks,
                  Instant now);
  /// The turn is over: what has been appended leaves, in a short slot if need be.
  void end_turn(Instant now);
  /// Ends a message whose stream has been silent for an RTT.
  void on_time(Instant now);
  /// Ends a message that is open: nothing comes for a while.
  void finish(Instant now) {
    if (handle_) close(now);
  }
  Instant next_due() const { return handle_ ? last_append_ + silence_ : Instant::never(); }

  /// Of frames that were taken: those given to the stream whole, and those whose last slot the
  /// stream refused because its message was over. Taken = sent + lost + queued.
  uint64_t sent_count() const { return sent_; }
  uint64_t lost_count() const { return lost_; }
  /// In the unfinished slot; none after end_turn().
  uint64_t queued_count() const { return ends_in_slot_; }

 private:
  SlotWriter(sdr::Source stream, bool pads);

  bool try_open();
  bool has_packets(size_t bytes) const;
  void close(Instant now);
  void abandon();
  void begin_slot();
  uint8_t* put_at();
  bool try_flush(Instant now);
  uint32_t fill_up();
  bool try_write(const FrameHeader& header, std::span<const uint8_t> packet, FrameMarks marks,
                 Instant now);
  bool try_put_header(const FrameHeader& header, FrameMarks marks, Instant now);
  bool try_put(std::span<const uint8_t> bytes, FrameMarks marks, Instant now);
  void touch(FrameMarks marks);
  size_t message_rest() const {
    return size_t{slots_end_ - std::min(slot_, slots_end_)} * room_ - used_;
  }

  sdr::Source stream_;
  bool pads_;
  std::optional<sdr::SendHandle> handle_;  // of the message under way
  uint32_t slots_max_ = 0;
  uint32_t slots_end_ = 0;     // of the message under way: blocks that end early make it shorter
  bool is_end_known_ = false;  // asked for in this turn
  uint32_t room_ = 0;          // of a slot, behind its header
  uint32_t slot_ = 0;          // under way
  uint8_t* memory_ = nullptr;  // its own; null while nothing is used
  uint32_t used_ = 0;          // of its room
  uint32_t ends_in_slot_ = 0;  // frames whose last byte lies in it
  uint32_t frames_ = 0;        // in the slots before it
  uint16_t first_frame_ = no_frame_start;
  FrameMarks marks_;
  Instant last_append_;
  Duration silence_ = Duration::from_ms(100);
  uint64_t sent_ = 0, lost_ = 0;
};

}  // namespace cw::gateway
