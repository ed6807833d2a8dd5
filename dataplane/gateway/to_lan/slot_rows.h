// What was read of the slots of a stream's messages, and where the bytes of frames lie in them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "dataplane/base/assert.h"
#include "dataplane/base/memory/table.h"
#include "dataplane/core/lazy_memory.h"
#include "dataplane/gateway/to_lan/frames.h"
#include "dataplane/wire/slot.h"

namespace cw::gateway {

/// A frame that goes on in slots that have not come yet.
struct FrameTail {
  Spot start;         ///< of its header
  uint16_t got = 0;   ///< bytes of header and packet before the slot that it waits for
  uint16_t need = 0;  ///< in all; zero while the header is not whole
};

struct SlotRead {
  static constexpr uint32_t no_slot = UINT32_MAX;
  enum class State : uint8_t { Awaited, Present, Gone };

  FrameTail waiting{.start = {.slot = no_slot}};  ///< for this one
  uint16_t used = 0, first = no_frame_start;
  State state = State::Awaited;
};

/// The slots of one message. Its slots that are present were read: they say how long they are.
struct SlotRow {
  SlotRead* slots = nullptr;        ///< null: nothing is posted there
  FrameRow* held = nullptr;         ///< by slot: frames that begin in it and wait for their order
  const uint8_t* memory = nullptr;  ///< once something has come
  uint32_t payload_bytes = 0;       ///< of a slot, headers and all

  const uint8_t* bytes_at(Spot spot) const {
    return memory + size_t{spot.slot} * payload_bytes + slot_header_bytes + spot.offset;
  }
  /// `count` bytes from a spot on, in slots that are present and hold so many.
  void gather(Spot from, uint8_t* out, size_t count) const {
    const SlotRead* slot = &slots[from.slot];
    const uint8_t* at = bytes_at(from);
    size_t here = slot->used - from.offset;
    while (here < count) {
      std::memcpy(out, at, here);
      out += here;
      count -= here;
      here = (++slot)->used;
      at = bytes_at({++from.slot, 0});
    }
    std::memcpy(out, at, count);
  }
};

/// Rows for the messages of all streams, what was used last first. Thread: one. Memory: 28 bytes a
/// slot, lazily.
class SlotRowStock {
 public:
  SlotRowStock(size_t count, uint32_t slots_max)
      : count_(count),
        slots_max_(slots_max),
        slots_(count * slots_max, &memory_),
        held_(count * slots_max, &memory_) {
    given_back_.reserve(count);
  }

  bool is_dry() const { return given_back_.empty() && lent_ == count_; }
  /// There must be one. As its last borrower left it.
  void lend(SlotRow& row) {
    CW_ASSERT(!is_dry());
    const bool is_first = given_back_.empty();
    const size_t first = (is_first ? lent_++ : given_back_.back()) * slots_max_;
    row.slots = &slots_[first];
    row.held = &held_[first];
    if (!is_first) return given_back_.pop_back();
    std::fill_n(row.held, slots_max_, FrameRow{});
  }
  /// None of its frames is held any more.
  void take_back(SlotRow& row) {
    given_back_.push_back(static_cast<size_t>(row.slots - slots_.get()) / slots_max_);
    row = {};
  }

 private:
  size_t count_, slots_max_;
  LazyMemory memory_;
  Table<SlotRead> slots_;
  Table<FrameRow> held_;
  std::vector<size_t> given_back_;
  size_t lent_ = 0;  // ever
};

/// Of one stream, whose messages have so many slots at most; `stock` lives longer. Thread: one.
class SlotRows {
 public:
  SlotRows(uint32_t messages, uint32_t slots_max, SlotRowStock& stock)
      : slots_max_(slots_max), stock_(stock), rows_(new SlotRow[messages]()) {}

  /// False: all rows of the stock are in use.
  bool has_room() const { return !stock_.is_dry(); }
  /// For the next message in this place; there is room. Before its slots are read they are to be
  /// cleared.
  SlotRow& begin(uint32_t place) {
    SlotRow& row = rows_[place];
    stock_.lend(row);
    return row;
  }
  void clear(SlotRow& row) const { std::fill_n(row.slots, slots_max_, SlotRead{}); }
  void end(uint32_t place) { stock_.take_back(rows_[place]); }
  /// Where frames stand that begin in a slot and wait for their order.
  FrameRow& held(uint32_t place, uint32_t slot) { return rows_[place].held[slot]; }
  /// The frame's IP packet, header.bytes long.
  void copy(const ParsedFrame& frame, uint8_t* out) const {
    rows_[frame.place].gather(frame.packet, out, frame.header.bytes);
  }

 private:
  uint32_t slots_max_;
  SlotRowStock& stock_;
  std::unique_ptr<SlotRow[]> rows_;  // by place
};

}  // namespace cw::gateway
