// From the slots of one stream, in any order, to frames. Owns the memory that the stream's messages
// arrive in, and lends it to frames until they have left.
//
//   slot arrives: | tail of a frame from before | frame | frame | begin of a frame that goes on |
//                   |                              |               |
//                   who waits for this slot?       read            walk over the slots behind; at
//                   the go on from here                                first that is missing, wait
//                   there
//
// A frame that straddles waits at the first slot it misses, and at most one waits at each, so that
// an arrival costs what it brings. The front is the first slot that has neither come nor been given
// up: whatever was sent before it is settled.
//
// Bytes are hostile. A slot or frame that cannot be is dropped with a reason, and reading goes on
// at the next slot in which a frame begins [C-46] [C-47] [C-48].
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dataplane/base/ring.h"
#include "dataplane/core/counters.h"
#include "dataplane/gateway/frames.h"
#include "dataplane/sdr/recv_stream.h"

namespace cw::gateway {

/// What a reader asks of its stream; none of it from within an event.
class Receives {
 public:
  virtual ~Receives() = default;
  virtual std::optional<sdr::RecvHandle> try_post(sdr::RecvMemory& lender, uint64_t bytes) = 0;
  virtual void complete(sdr::RecvHandle handle, Instant now) = 0;
  /// How the slots of a message have come. Also from within events; valid until they are over.
  virtual sdr::SlotArrivals arrivals(sdr::RecvHandle handle) const = 0;
  /// Of a slot in this epoch; at most what the reader was made for. Also from within events.
  virtual uint32_t payload_bytes() const = 0;
};

/// Who is told what was read.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  /// A frame is whole. Returns a place for it; null: there is none, and the frame is lost.
  virtual Frame* try_take(Instant now) = 0;
  /// `parsed` of what try_take() has just returned is written. The frame's bytes stay where they
  /// are until SlotReader::done().
  virtual void on_frame(Frame& frame, Instant now) = 0;
  /// The front has passed these slots: no frame that begins at or before them is still to come,
  /// save the last, when it straddles (it then bears is_settled).
  virtual void on_settled(uint32_t place, uint32_t slot_first, uint32_t slot_end, Instant now) = 0;
};

struct SlotReaderOptions {
  uint32_t messages = 16;
  uint32_t data_slots_max = 2048;
  uint32_t payload_bytes_max = 1024;
  /// A sender that may open no further message for this long, because the oldest has holes, gets
  /// its place back: the holes are given up.
  Duration stall = Duration::from_ms(60);

  uint64_t message_bytes() const { return uint64_t{data_slots_max} * payload_bytes_max; }
};

class SlotReader final : sdr::RecvMemory {
 public:
  /// `memory` is of messages x message_bytes() and lives as long as the reader, like the others.
  SlotReader(const SlotReaderOptions& options, std::span<uint8_t> memory, Receives& receives,
             FrameSink& sink, Drops& drops);

  // ---- events of the stream; stale handles are ignored ----
  void on_placed(sdr::RecvHandle handle, uint32_t word_first, uint32_t word_end,
                 const uint64_t* placed, Instant now);
  void on_length(sdr::RecvHandle handle, sdr::MessageLength length, Instant now);
  void on_abandoned(sdr::RecvHandle handle, uint32_t first, uint32_t count, Instant now);
  /// Every frame is void; done() is not to be called for any.
  void on_reset();

  /// Once per turn, outside of events: messages that nobody needs any longer go back to the stream
  /// and are posted anew. Returns whether there was any.
  bool on_time(Instant now);
  Instant next_due() const;
  void rebase(Duration shift);

  // ---- frames ----
  /// Copies the frame's IP packet, header.bytes long, to `out`.
  void copy(const ParsedFrame& frame, uint8_t* out) const;
  /// The frame's bytes are no longer needed. Once per frame.
  void done(const ParsedFrame& frame);

  uint32_t posted_count() const { return static_cast<uint32_t>(posted_.count()); }
  /// Slots given up because the sender was stalled.
  uint64_t stalled_slot_count() const { return stalled_slots_; }
  /// Frames that messages were said to hold and that never became whole.
  uint64_t given_up_count() const { return given_up_; }
  /// Messages that were over before their sender's word was heard.
  uint64_t unheard_count() const { return unheard_; }

 private:
  static constexpr uint32_t no_slot = UINT32_MAX, unknown = UINT32_MAX;

  enum class SlotState : uint8_t { Awaited, Present, Gone };

  /// A frame that goes on in slots that have not come yet.
  struct Tail {
    Spot start;         // of its header
    uint16_t got = 0;   // bytes of header and packet before the slot that it waits for
    uint16_t need = 0;  // in all; zero while the header is not whole
  };
  struct Slot {
    Tail waiting{.start = {.slot = no_slot}};  // for this one
    uint16_t used = 0, first = no_frame_start;
    SlotState state = SlotState::Awaited;
  };
  struct Message {
    sdr::RecvHandle handle;
    Slot* row = nullptr;        // its slots
    uint8_t* memory = nullptr;  // lent when the first slot comes
    uint32_t slots = unknown;   // its length
    uint32_t frames = 0;        // lent
    uint32_t tails = 0;         // that wait for a slot
    uint32_t said = unknown;    // frames in it, by its sender's word
    uint32_t whole = 0;         // frames read so far
    bool is_posted = false;
  };

  uint8_t* lend(sdr::RecvHandle handle) override;
  Message* find(sdr::RecvHandle handle);
  static Slot& slot_of(const Message& message, uint32_t slot) { return message.row[slot]; }
  uint64_t* known_of(const Message& message) {
    return &known_[size_t{message.handle.place} * words_];
  }
  const uint8_t* bytes_of(const Message& message, Spot spot) const {
    return message.memory + size_t{spot.slot} * payload_bytes_ + slot_header_bytes + spot.offset;
  }
  uint32_t end_of(const Message& message) const {
    return message.slots < options_.data_slots_max ? message.slots : options_.data_slots_max;
  }

  static DropReason misfit(const std::optional<SlotHeader>& header, uint32_t came);
  void read_slot(Message& message, uint32_t index, Instant now);
  void resume(Message& message, uint32_t index, Instant now);
  void lose_slot(Message& message, uint32_t slot);
  void read_frames(Message& message, uint32_t index, Instant now);
  void begin_tail(Message& message, const Tail& tail, Instant now);
  static void await(Message& message, Slot& slot, const Tail& tail);
  void follow(Message& message, Tail tail, uint32_t index, Instant now);
  std::optional<DropReason> extend(const Message& message, Tail& tail, const Slot& slot) const;
  std::optional<FrameHeader> header_at(const Message& message, Spot spot) const;
  uint16_t bytes_needed_by(const Message& message, Spot spot) const;
  void gather(const Message& message, Spot from, uint8_t* out, size_t count) const;
  void emit(Message& message, Spot start, Instant now);
  void put_behind_header(const Message& message, Spot start, Spot& packet) const;
  void advance_front(Instant now);
  void give_up_stalled(Instant now);
  void count_given_up(const Message& message);
  bool post_all();

  const SlotReaderOptions options_;
  std::vector<uint8_t*> unused_;  // memory of messages; what was used last goes first
  Receives& receives_;
  FrameSink& sink_;
  Drops& drops_;
  uint32_t payload_bytes_ = 0;
  // Of the message whose slots are being read.
  sdr::SlotArrivals arrivals_;
  uint32_t settled_end_ = 0;  // the front has passed the slots before
  uint32_t words_;            // of bits per message

  std::unique_ptr<Message[]> messages_;  // by place
  std::unique_ptr<Slot[]> slots_;        // by place and slot
  std::unique_ptr<uint64_t[]> known_;    // bit: the slot has come or is given up
  Ring<uint32_t> posted_;                // places, the oldest message first
  size_t front_ = 0;                     // index into posted_
  uint32_t front_slot_ = 0;
  bool is_void_ = false;  // what is posted is of an epoch that is over
  Instant stalled_since_ = Instant::never();
  uint64_t stalled_slots_ = 0;
  uint64_t given_up_ = 0, unheard_ = 0;
};

}  // namespace cw::gateway
