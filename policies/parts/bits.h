// Runs of bits, found a word at a time, so that a range costs what its words cost and a run of
// 300,000 slots comes out as one range. A bitmap is any callable that maps a word index to 64 bits;
// combining two bitmaps is a lambda.
#pragma once

#include <bit>
#include <cstdint>

namespace cw::policy {

/// Slots [first, end).
struct SlotRun {
  uint32_t first = 0, end = 0;
  bool is_empty() const { return first >= end; }
  uint32_t count() const { return end - first; }
  bool operator==(const SlotRun&) const = default;
};

/// The bits of word `index` that stand for slots in [first, end).
inline uint64_t mask_of(uint32_t index, uint32_t first, uint32_t end) {
  const uint64_t low = uint64_t{index} * 64;
  uint64_t mask = ~uint64_t{0};
  if (first > low) mask = first - low < 64 ? mask << (first - low) : 0;
  if (end < low + 64) mask &= end > low ? ~uint64_t{0} >> (low + 64 - end) : 0;
  return mask;
}

/// The first set bit in [from, end), or `end`.
template <class WordAt>
uint32_t next_set(const WordAt& word_at, uint32_t from, uint32_t end) {
  if (from >= end) return end;
  for (uint32_t index = from / 64; index <= (end - 1) / 64; ++index) {
    const uint64_t word = word_at(index) & mask_of(index, from, end);
    if (word != 0) return index * 64 + static_cast<uint32_t>(std::countr_zero(word));
  }
  return end;
}

/// The first clear bit in [from, end), or `end`.
template <class WordAt>
uint32_t next_clear(const WordAt& word_at, uint32_t from, uint32_t end) {
  return next_set([&](uint32_t index) { return ~word_at(index); }, from, end);
}

/// The first run of set bits within [from, end); empty when there is none.
template <class WordAt>
SlotRun next_run(const WordAt& word_at, uint32_t from, uint32_t end) {
  const uint32_t first = next_set(word_at, from, end);
  return {first, next_clear(word_at, first, end)};
}

/// The smallest run that covers every set bit in [from, end).
template <class WordAt>
SlotRun cover(const WordAt& word_at, uint32_t from, uint32_t end) {
  SlotRun run{next_set(word_at, from, end), end};
  while (!run.is_empty()) {
    const uint32_t index = (run.end - 1) / 64;
    const uint64_t word = word_at(index) & mask_of(index, run.first, run.end);
    if (word != 0) return {run.first, index * 64 + static_cast<uint32_t>(std::bit_width(word))};
    run.end = index * 64;
  }
  return run;
}

}  // namespace cw::policy
