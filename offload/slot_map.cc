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

SlotMap::SlotMap(const SlotMapLimits& limits) : limits_(limits) {
  CW_ASSERT(limits.ids > 0 && limits.data_slots_max > 0 && limits.data_slots_max < 1u << 24);
  CW_ASSERT(limits.chunk_slots > 0 && limits.chunk_slots < 1u << 16);
  const uint32_t chunks = (limits.data_slots_max - 1) / limits.chunk_slots + 1;
  chunk_inverse_ = ((uint64_t{1} << 40) + limits.chunk_slots - 1) / limits.chunk_slots;
  repair_word_ = words_for(limits.data_slots_max);
  chunk_word_ = repair_word_ + words_for(limits.repair_slots_max);
  count_word_ = chunk_word_ + words_for(chunks);
  line_count_ = (count_word_ + (chunks + 1) / 2 + 7) / 8;  // two counts to a word
  lines_ = std::make_unique<Line[]>(size_t{limits.ids} * line_count_);
  lives_ = std::make_unique<Life[]>(limits.ids);
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

SlotMap::Merged SlotMap::merge(uint32_t id, uint32_t word, uint64_t bits) {
  uint64_t& in = words_of(id)[word];
  const uint64_t fresh = bits & ~in;
  if (fresh == 0) return {};
  in |= fresh;
  Merged merged{.slots = ones(fresh)};
  const uint32_t first = word * 64;
  const uint32_t end = first + 64 - static_cast<uint32_t>(std::countl_zero(fresh));
  lives_[id].data_used = std::max(lives_[id].data_used, end);
  uint32_t slot = first + static_cast<uint32_t>(std::countr_zero(fresh));
  while (slot < end) {
    const uint32_t chunk = chunk_of(slot);
    const uint32_t chunk_first = chunk * limits_.chunk_slots;
    const uint32_t next = chunk_first + limits_.chunk_slots;
    const uint32_t slots = ones(fresh & mask_of(first, chunk_first, next));
    if (slots > 0) merged.chunks += fill_chunk(id, chunk, slots);
    slot = next;
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
