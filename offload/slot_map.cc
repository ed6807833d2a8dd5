#include "offload/slot_map.h"

#include "offload/ones.h"

namespace cw {
namespace {

uint32_t words_for(uint32_t bits) { return (bits + 63) / 64; }

/// The bits of a word that begins at slot `first` which lie in [begin, end).
uint64_t mask_of(uint32_t first, uint32_t begin, uint32_t end) {
  const uint32_t low = std::max(first, begin) - first;
  const uint32_t high = std::min(first + 64, end) - first;
  if (low >= high) return 0;
  return (high == 64 ? ~uint64_t{0} : (uint64_t{1} << high) - 1) & ~uint64_t{0} << low;
}

}  // namespace

SlotMap::SlotMap(const SlotMapLimits& limits, TableMemory* memory) : limits_(limits) {
  CW_ASSERT(limits.ids > 0 && limits.data_slots_max > 0 && limits.data_slots_max < 1u << 24);
  CW_ASSERT(limits.chunk_slots > 0 && limits.chunk_slots < 1u << 16);
  const uint32_t chunks = (limits.data_slots_max - 1) / limits.chunk_slots + 1;
  chunk_inverse_ = ((uint64_t{1} << 40) + limits.chunk_slots - 1) / limits.chunk_slots;
  if (std::has_single_bit(limits.chunk_slots) && limits.chunk_slots <= 64) {
    even_mask_ = ~uint64_t{0} >> (64 - limits.chunk_slots);
  }
  repair_word_ = words_for(limits.data_slots_max);
  chunk_word_ = repair_word_ + words_for(limits.repair_slots_max);
  count_word_ = chunk_word_ + words_for(chunks);
  line_count_ = (count_word_ + (chunks + 1) / 2 + 7) / 8;  // two counts to a word
  lines_ = Table<Line>(size_t{limits.ids} * line_count_, memory);
  lives_ = Table<Life>(limits.ids, memory);
}

void SlotMap::clear(uint32_t id) {
  Life& life = lives_[id];
  uint64_t* const words = words_of(id);
  std::fill_n(words, words_for(life.data_used), 0);
  std::fill_n(words + repair_word_, words_for(life.repair_used), 0);
  if (life.data_used > 0) {
    const uint32_t chunks = chunk_of(life.data_used - 1) + 1;
    std::fill_n(words + chunk_word_, words_for(chunks), 0);
    std::fill_n(counts_of(id), chunks, 0);
  }
  life = {};
}

/// The bits of a word that are of the chunk in which its bit `lowest` lies.
uint64_t SlotMap::mask_of_chunk(uint32_t first, uint32_t lowest, uint32_t chunk) const {
  if (even_mask_ != 0) return even_mask_ << (lowest & ~(limits_.chunk_slots - 1));
  const uint32_t begin = chunk * limits_.chunk_slots;
  return mask_of(first, begin, begin + limits_.chunk_slots);
}

SlotMap::Merged SlotMap::merge(uint32_t id, uint32_t word, uint64_t bits) {
  uint64_t& in = words_of(id)[word];
  uint64_t left = bits & ~in;
  Merged merged;
  if (left == 0) return merged;
  in |= left;
  const uint32_t first = word * 64;
  const uint32_t end = first + 64 - static_cast<uint32_t>(std::countl_zero(left));
  Life& life = lives_[id];
  life.data_used = std::max(life.data_used, end);
  while (left != 0) {
    const auto lowest = static_cast<uint32_t>(std::countr_zero(left));
    const uint32_t chunk = chunk_of(first + lowest);
    const uint64_t all = mask_of_chunk(first, lowest, chunk), of_chunk = left & all;
    // One that is late, mostly, or a whole chunk: neither needs counting.
    const bool is_one = (of_chunk & (of_chunk - 1)) == 0;
    const bool is_whole = of_chunk == all && even_mask_ != 0;
    const uint32_t slots = is_one ? 1 : is_whole ? limits_.chunk_slots : ones(of_chunk);
    left ^= of_chunk;
    merged.slots += slots;
    merged.chunks += fill_chunk(id, chunk, slots);
  }
  return merged;
}

bool SlotMap::set_length(uint32_t id, uint32_t slots) {
  Life& life = lives_[id];
  life.data_end = slots;
  const uint32_t chunk = chunk_of(slots);
  return is_cut(life, chunk) && is_cut_whole(id, chunk) && publish(id, chunk);
}

bool SlotMap::is_cut_whole(uint32_t id, uint32_t chunk) const {
  const uint64_t* const words = words_of(id);
  const uint32_t end = lives_[id].data_end;
  for (uint32_t slot = chunk * limits_.chunk_slots; slot < end; slot = slot / 64 * 64 + 64) {
    const uint32_t first = slot / 64 * 64;
    if ((mask_of(first, slot, end) & ~words[slot / 64]) != 0) return false;
  }
  return true;
}

}  // namespace cw
