// The records of a 400 Gbit/s receiver of 4 KiB packets, 12 million a second: whole lives of
// messages, as many as have 76 KiB of packet bits, two windows of 25 ms.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "dataplane/base/prng.h"
#include "offload/bitmap.h"
#include "offload/stage/line_memory.h"

namespace cw::bench {

inline constexpr uint32_t load_ids = 152, load_slots = 4096;
inline constexpr cw_bits_limits load_limits = {
    .ids = load_ids, .slots_max = load_slots, .slot_bits = 18, .user_bits = 4};

inline cw_bits_record load_record(uint8_t kind, uint32_t id, uint32_t slot) {
  return {id << 22 | slot << 4, 0, 0, kind};
}
inline uint32_t load_id_of(const cw_bits_record& record) { return record.immediate >> 22; }
inline uint32_t load_slot_of(const cw_bits_record& record) {
  return record.immediate >> 4 & 0x3ffff;
}

/// The slots of a message as a network brings them: this share of them late, by up to 255.
inline std::vector<uint32_t> load_slots_of_a_message(Prng& random, double late = 0.02) {
  std::vector<uint32_t> slots(load_slots);
  for (uint32_t slot = 0; slot < load_slots; ++slot) {
    slots[slot] = slot;
    const uint64_t back = random.chance(late) ? random.below(256) : 0;
    if (back <= slot) std::swap(slots[slot], slots[slot - back]);
  }
  return slots;
}

/// Of each message its arm, its packets and its close.
inline std::vector<cw_bits_record> load_records() {
  std::vector<cw_bits_record> records;
  Prng random(1);
  for (uint32_t id = 0; id < load_ids; ++id) {
    records.push_back(load_record(CW_BITS_ARM, id, 0));
    for (const uint32_t slot : load_slots_of_a_message(random)) {
      records.push_back(load_record(CW_BITS_PACKET, id, slot));
    }
    records.push_back(load_record(CW_BITS_CLOSE, id, 0));
  }
  return records;
}

/// One row, run by hand, for a stream with the load's limits.
class LoadRow {
 public:
  /// Of both rings; a power of two.
  explicit LoadRow(uint32_t capacity)
      : row_memory_(cw_bits_row_size(1, capacity, capacity)),
        arena_(cw_bits_arena_size(&load_limits)),
        row_(static_cast<cw_bits_row*>(row_memory_.get())) {
    cw_bits_row_init(row_, 1, capacity, capacity);
    cw_bits_arena_init(arena_.get(), &load_limits);
    cw_bits_row_add(row_, 0, arena_.get());
  }
  void push(std::span<const cw_bits_record> records) {
    cw_bits_record* const ring = cw_bits_records(row_);
    uint32_t tail = row_->records_tail;
    for (const cw_bits_record& each : records) ring[tail++ & (row_->records_capacity - 1)] = each;
    __atomic_store_n(&row_->records_tail, tail, __ATOMIC_RELEASE);
  }
  uint32_t serve() { return cw_bits_serve(row_); }
  template <class Do>
  void take(const Do& act) {
    const cw_bits_event* const ring = cw_bits_events(row_);
    const uint32_t tail = __atomic_load_n(&row_->events_tail, __ATOMIC_ACQUIRE);
    for (uint32_t at = row_->events_head; at != tail; ++at) {
      act(ring[at & (row_->events_capacity - 1)]);
    }
    __atomic_store_n(&row_->events_head, tail, __ATOMIC_RELEASE);
  }
  cw_bits_row* row() { return row_; }

 private:
  LineMemory row_memory_, arena_;
  cw_bits_row* row_;
};

}  // namespace cw::bench
