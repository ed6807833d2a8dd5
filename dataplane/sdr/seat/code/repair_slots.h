// The memory of one end's repair slots, for every place of a message; of no use while none is open.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dataplane/base/memory/buffers.h"
#include "dataplane/base/memory/table.h"
#include "dataplane/sdr/stream/stream_config.h"

namespace cw::sdr {

/// Thread: the stream's owner; a slot's bytes are a codec's while it works on them.
class RepairSlots {
 public:
  RepairSlots(const StreamConfig& config, TableMemory& memory)
      : per_message_(config.repair_slots_max),
        slots_(size_t{config.messages} * per_message_, config.shard_bytes(), memory),
        bytes_(size_t{config.messages} * per_message_, &memory) {}

  /// As long as a shard.
  uint8_t* at(uint32_t place, uint32_t slot) const { return slots_.at(index(place, slot)); }

  // At the source a slot comes into being once in the life of its message.
  bool is_claimed(uint32_t place, uint32_t slot) const { return bytes_[index(place, slot)] != 0; }
  /// It will have so many bytes in front of its zeros, at least one.
  void claim(uint32_t place, uint32_t slot, uint32_t bytes) {
    bytes_[index(place, slot)] = static_cast<uint16_t>(bytes | pending);
  }
  void make_ready(uint32_t place, uint32_t slot) {
    bytes_[index(place, slot)] &= static_cast<uint16_t>(~pending);
  }
  /// 0: it is not there, or not yet.
  uint32_t bytes(uint32_t place, uint32_t slot) const {
    const uint16_t value = bytes_[index(place, slot)];
    return (value & pending) != 0 ? 0 : value;
  }
  /// The first `count` of a message's slots are not there any more.
  void clear(uint32_t place, uint32_t count) {
    for (uint32_t slot = 0; slot < count; ++slot) bytes_[index(place, slot)] = 0;
  }

 private:
  static constexpr uint32_t pending = 0x8000;
  static_assert(limits::payload_bytes_max < pending);
  size_t index(uint32_t place, uint32_t slot) const {
    CW_DCHECK(slot < per_message_);
    return size_t{place} * per_message_ + slot;
  }

  uint32_t per_message_;
  Buffers slots_;
  Table<uint16_t> bytes_;
};

}  // namespace cw::sdr
