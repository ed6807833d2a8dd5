// What was read of the slots of a stream's messages, and where the bytes of frames lie in them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "dataplane/base/assert.h"
#include "dataplane/gateway/frames.h"
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
  SlotRead* slots = nullptr;
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

/// Thread: one. Memory: 20 bytes for every slot of every place, from the start.
class SlotRows {
 public:
  SlotRows(uint32_t messages, uint32_t slots_max)
      : slots_max_(slots_max),
        rows_(new SlotRow[messages]()),
        slots_(new SlotRead[size_t{messages} * slots_max]()) {
    for (uint32_t place = 0; place < messages; ++place) {
      rows_[place].slots = &slots_[size_t{place} * slots_max];
    }
  }

  /// For the next message in this place.
  SlotRow& begin(uint32_t place) {
    SlotRow& row = rows_[place];
    std::fill_n(row.slots, slots_max_, SlotRead{});
    row.memory = nullptr;
    return row;
  }
  /// The frame's IP packet, header.bytes long.
  void copy(const ParsedFrame& frame, uint8_t* out) const {
    rows_[frame.place].gather(frame.packet, out, frame.header.bytes);
  }

 private:
  uint32_t slots_max_;
  std::unique_ptr<SlotRow[]> rows_;  // by place
  std::unique_ptr<SlotRead[]> slots_;
};

}  // namespace cw::gateway
