// What tests of the kernel start from: a row and arenas in exactly as much memory as they ask for,
// so that AddressSanitizer sees the first byte beyond, and records written in one line.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <new>
#include <ostream>
#include <vector>

#include "offload/bitmap.h"

// For failure messages and comparisons.
inline bool operator==(const cw_bits_record& a, const cw_bits_record& b) {
  return a.immediate == b.immediate && a.stream == b.stream && a.generation == b.generation &&
         a.kind == b.kind;
}
inline bool operator==(const cw_bits_event& a, const cw_bits_event& b) {
  return a.about == b.about && a.bits == b.bits;
}
inline void PrintTo(const cw_bits_event& e, std::ostream* out) {
  *out << "{kind " << int(e.about.kind) << " stream " << e.about.stream << " id "
       << (e.about.immediate >> 22) << " slot " << (e.about.immediate >> 4 & 0x3ffff)
       << " generation " << int(e.about.generation) << " bits " << std::hex << e.bits << std::dec
       << "}";
}

namespace cw {

/// For the default split of the immediate, 10 | 18 | 4.
inline uint32_t immediate(uint32_t id, uint32_t slot) { return id << 22 | slot << 4; }

inline cw_bits_record record(uint8_t kind, uint32_t id, uint32_t slot, uint8_t generation = 0,
                             uint16_t stream = 0) {
  return {immediate(id, slot), stream, generation, kind};
}
inline cw_bits_record packet(uint32_t id, uint32_t slot, uint8_t generation = 0,
                             uint16_t stream = 0) {
  return record(CW_BITS_PACKET, id, slot, generation, stream);
}
inline cw_bits_event event(uint8_t kind, uint32_t id, uint32_t slot, uint8_t generation = 0,
                           uint64_t bits = 0, uint16_t stream = 0) {
  return {record(kind, id, slot, generation, stream), bits};
}

/// Small; odd, so that no size is a whole word.
inline constexpr cw_bits_limits small_limits = {
    .ids = 5, .slots_max = 150, .slot_bits = 18, .user_bits = 4};

/// The owner's end, and the partition run by hand.
class OneRow {
 public:
  explicit OneRow(uint32_t records = 64, uint32_t events = 64, uint32_t streams_max = 3)
      : row_(static_cast<cw_bits_row*>(take(cw_bits_row_size(streams_max, records, events)))) {
    cw_bits_row_init(row_, streams_max, records, events);
  }
  /// Returns the arena.
  const void* add(uint16_t stream, const cw_bits_limits& limits = small_limits) {
    void* const arena = take(cw_bits_arena_size(&limits));
    EXPECT_EQ(cw_bits_arena_init(arena, &limits), 0);
    cw_bits_row_add(row_, stream, arena);
    return arena;
  }

  void push(const cw_bits_record& each) {
    cw_bits_records(row_)[row_->records_tail % row_->records_capacity] = each;
    __atomic_store_n(&row_->records_tail, row_->records_tail + 1, __ATOMIC_RELEASE);
  }
  std::vector<cw_bits_event> take_events() {
    std::vector<cw_bits_event> events;
    const uint32_t tail = __atomic_load_n(&row_->events_tail, __ATOMIC_ACQUIRE);
    for (uint32_t at = row_->events_head; at != tail; ++at) {
      events.push_back(cw_bits_events(row_)[at % row_->events_capacity]);
    }
    __atomic_store_n(&row_->events_head, tail, __ATOMIC_RELEASE);
    return events;
  }
  /// What it tells of these records, and no others.
  std::vector<cw_bits_event> run(const std::vector<cw_bits_record>& records) {
    for (const cw_bits_record& each : records) push(each);
    EXPECT_EQ(cw_bits_serve(row_), records.size());
    return take_events();
  }
  cw_bits_row& row() { return *row_; }

 private:
  struct Free {
    void operator()(void* memory) const { ::operator delete(memory, std::align_val_t{64}); }
  };
  void* take(size_t bytes) {
    return memory_.emplace_back(::operator new(bytes, std::align_val_t{64})).get();
  }
  std::deque<std::unique_ptr<void, Free>> memory_;
  cw_bits_row* row_;
};

}  // namespace cw
