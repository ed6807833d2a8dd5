// From the slots of one stream, in any order, to frames. A message stays until all of its frames
// have left.
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
#include <utility>

#include "dataplane/base/memory/ring.h"
#include "dataplane/core/counters.h"
#include "dataplane/gateway/order/order.h"
#include "dataplane/gateway/to_lan/frames.h"
#include "dataplane/gateway/to_lan/slot_rows.h"
#include "dataplane/sdr/sink.h"

namespace cw::gateway {

struct SlotReaderOptions {
  uint32_t messages = 16;
  uint32_t data_slots_max = 2048;
  uint32_t payload_bytes_max = 1024;
  /// A sender that may open no further message for this long, because the oldest has holes, gets
  /// its place back: the holes are given up.
  Duration stall = Duration::from_ms(60);

  uint64_t message_bytes() const { return uint64_t{data_slots_max} * payload_bytes_max; }
};

class SlotReader {
 public:
  /// Reads along with `sink`, and gives frames to `order`. All of them live as long as the reader.
  SlotReader(const SlotReaderOptions& options, sdr::Sink sink, SlotRows& rows, FrameTable& frames,
             Order& order, Drops& drops);

  /// What is new of one message. News of a message that is over are ignored.
  void read(const sdr::MessageNews& news, Instant now);
  /// The epoch is over, and every frame is void.
  void reset();

  /// Once per turn: messages that nobody needs any longer go back to the stream and are posted
  /// anew. Returns whether there was any.
  bool on_time(Instant now);
  Instant next_due() const;
  void rebase(Duration shift);
  void set_stall(Duration stall) { options_.stall = stall; }

  uint32_t posted_count() const { return static_cast<uint32_t>(posted_.count()); }
  /// Slots given up because the sender was stalled.
  uint64_t stalled_slot_count() const { return stalled_slots_; }
  /// Frames that messages were said to hold and that never became whole.
  uint64_t given_up_count() const { return given_up_; }
  /// Messages that were over before their sender's word was heard.
  uint64_t unheard_count() const { return unheard_; }

 private:
  static constexpr uint32_t unknown = UINT32_MAX;
  using Slot = SlotRead;
  using Tail = FrameTail;

  struct Message {
    sdr::RecvHandle handle;
    SlotRow* row = nullptr;    // where its bytes lie
    Slot* read = nullptr;      // its slots
    uint32_t slots = unknown;  // its length
    uint32_t tails = 0;        // that wait for a slot
    uint32_t said = unknown;   // frames in it, by its sender's word
    uint32_t whole = 0;        // frames read so far
    bool is_posted = false;
    bool is_clear = false;  // the row: not before something of the message is known
  };

  Message* find(sdr::RecvHandle handle);
  void clear_row(Message& message) {
    if (!std::exchange(message.is_clear, true)) rows_.clear(*message.row);
  }
  static Slot& slot_of(const Message& message, uint32_t slot) { return message.read[slot]; }
  uint64_t* known_of(const Message& message) {
    return &known_[size_t{message.handle.place} * words_];
  }
  uint32_t end_of(const Message& message) const {
    return message.slots < options_.data_slots_max ? message.slots : options_.data_slots_max;
  }

  void take_length(Message& message);
  void read_word(Message& message, uint32_t word, Instant now);
  void lose_word(Message& message, uint32_t word);
  uint64_t within(const Message& message, uint32_t word, uint64_t bits) const;
  static DropReason misfit(const std::optional<SlotHeader>& header, uint32_t came);
  void read_slot(Message& message, uint32_t index, Instant now);
  void resume(Message& message, uint32_t index, Instant now);
  void lose_slot(Message& message, uint32_t slot);
  void read_frames(Message& message, uint32_t index, Instant now);
  void begin_tail(Message& message, const Tail& tail, Instant now);
  static void await(Message& message, Slot& slot, const Tail& tail);
  void follow(Message& message, Tail tail, uint32_t index, Instant now);
  static bool try_extend(const Message& message, Tail& tail, const Slot& slot, DropReason& reason);
  static std::optional<FrameHeader> header_at(const Message& message, Spot spot);
  static uint16_t bytes_needed_by(const Message& message, Spot spot);
  void emit(Message& message, Spot start, Instant now);
  static void put_behind_header(const Message& message, Spot start, Spot& packet);
  void advance_front();
  void give_up_stalled(Instant now);
  void count_given_up(const Message& message);
  bool post_all();

  SlotReaderOptions options_;
  const sdr::Sink sink_;
  SlotRows& rows_;
  FrameTable& frames_;
  Order& order_;
  Drops& drops_;
  sdr::MessageView view_;     // of the message whose slots are being read
  uint32_t settled_end_ = 0;  // the front has passed the slots before
  uint32_t words_;            // of bits per message

  std::unique_ptr<Message[]> messages_;  // by place
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
