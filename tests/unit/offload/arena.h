// What every bitmap test starts from: an arena, and records written in one line.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <set>

#include "offload/bitmap.h"

namespace cw {

/// Small, so that random scripts reach every edge; odd, so that no size is a whole word.
inline constexpr cw_bits_limits small_limits = {.ids = 5,
                                                .data_slots_max = 150,
                                                .repair_slots_max = 37,
                                                .chunk_slots_min = 1,
                                                .partitions = 2,
                                                .slot_bits = 18,
                                                .user_bits = 4,
                                                .claimed_apart = 0};

/// An initialised arena in exactly as much memory as it asked for, so that AddressSanitizer sees
/// the first byte beyond.
class Arena {
 public:
  explicit Arena(const cw_bits_limits& limits)
      : limits_(limits), memory_(std::aligned_alloc(64, cw_bits_size(&limits))) {
    EXPECT_EQ(cw_bits_init(get(), &limits_), 0);
  }
  void* get() const { return memory_.get(); }
  const cw_bits_limits& limits() const { return limits_; }

  std::set<uint32_t> data(uint32_t id) const {
    return bits(cw_bits_data_words(get(), id), limits_.data_slots_max);
  }
  std::set<uint32_t> repair(uint32_t id) const {
    return bits(cw_bits_repair_words(get(), id), limits_.repair_slots_max);
  }
  std::set<uint32_t> chunks(uint32_t id) const {
    return bits(cw_bits_chunk_words(get(), id),
                (limits_.data_slots_max - 1) / limits_.chunk_slots_min + 1);
  }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  /// Looks at whole words: a stray bit in the last word's unused part is seen too.
  static std::set<uint32_t> bits(const uint64_t* words, uint32_t count) {
    std::set<uint32_t> found;
    for (uint32_t bit = 0; bit < (count + 63) / 64 * 64; ++bit) {
      if (cw_bits_load(words + bit / 64) >> bit % 64 & 1) found.insert(bit);
    }
    return found;
  }

  cw_bits_limits limits_;
  std::unique_ptr<void, Free> memory_;
};

/// Writes records for the default split of the immediate, 10 | 18 | 4.
inline uint32_t immediate(uint32_t id, uint32_t slot) { return id << 22 | slot << 4; }

inline cw_bits_record packet(uint32_t id, uint32_t slot, uint8_t generation = 0,
                             uint16_t channel = 0) {
  cw_bits_record r{};
  r.immediate = immediate(id, slot) | (slot & 15);
  r.length = 4096;
  r.channel = channel;
  r.generation = generation;
  r.kind = CW_BITS_PACKET;
  return r;
}

inline cw_bits_record control(uint8_t kind, uint32_t id, uint8_t generation, uint32_t slot = 0,
                              uint32_t length = 0) {
  cw_bits_record r{};
  r.immediate = immediate(id, slot);
  r.length = length;
  r.generation = generation;
  r.kind = kind;
  return r;
}

struct Geometry {
  uint32_t data_slots = 0;
  uint16_t chunk_slots = 1;
  uint32_t cut = 0;
  uint32_t repair_slots = 0;
};

inline cw_bits_record arm(uint32_t id, uint8_t generation, const Geometry& g) {
  cw_bits_record r = control(CW_BITS_ARM, id, generation, g.cut, g.data_slots);
  r.chunk_slots = g.chunk_slots;
  r.repair_slots = g.repair_slots;
  return r;
}

}  // namespace cw
