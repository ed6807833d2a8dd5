// What the bits of a message add up to: which of its slots are in, and which of its chunks are
// whole. The owner's side of the bitmap work. Bits come by two ways, and to one place:
//
//   claim, copy, count      a packet whose payload the turn itself copies: claimed is not placed
//   merge                   up to 64 packets whose payload lies in place already, as a partition
//                           (offload/bitmap.h) has told of them
//
// An id's part of the memory, which begins on a cache line of its own:
//
//   | data slots | repair slots | one bit per chunk | how many of each chunk's slots are in |
//
// At rest all of it is zero: counts count up, so that an arm writes nothing.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "dataplane/base/assert.h"
#include "dataplane/base/memory/table.h"

namespace cw {

struct SlotMapLimits {
  uint32_t ids = 0;               ///< in use are [0, ids)
  uint32_t data_slots_max = 0;    ///< of one message, at least 1, below 2^24
  uint32_t repair_slots_max = 0;  ///< of one message; 0: none
  uint32_t chunk_slots = 0;       ///< 1 to 65535
};

/// Thread: one. Nothing allocates but the constructor. Ids and slots are within the limits: whoever
/// has them from a peer asks before.
class SlotMap {
 public:
  /// In `memory`, which outlives it; null: of its own.
  explicit SlotMap(const SlotMapLimits& limits, TableMemory* memory = nullptr);

  /// A new life of `id`, which is clear, with `slots` data slots.
  void arm(uint32_t id, uint32_t slots) { lives_[id].data_end = lives_[id].slots = slots; }
  /// Zeroes what the life of `id` has used.
  void clear(uint32_t id);

  uint32_t armed(uint32_t id) const { return lives_[id].slots; }
  /// Data slots lie below: as armed, or as its length says.
  uint32_t data_end(uint32_t id) const { return lives_[id].data_end; }

  bool has(uint32_t id, uint32_t slot) const { return is_set(data_words(id), slot); }
  bool has_repair(uint32_t id, uint32_t index) const { return is_set(repair_words(id), index); }

  /// Makes the caller the only one to copy this slot, to be counted when it lies there; false: it
  /// was claimed before.
  bool try_claim(uint32_t id, uint32_t slot) {
    Life& life = lives_[id];
    if (!try_set(words_of(id), slot)) return false;
    life.data_used = std::max(life.data_used, slot + 1);
    return true;
  }
  /// Whether the slot made its chunk whole.
  bool count(uint32_t id, uint32_t slot) { return fill_chunk(id, chunk_of(slot), 1); }
  /// The same for the repair slot of this index; it belongs to no chunk.
  bool try_claim_repair(uint32_t id, uint32_t index) {
    Life& life = lives_[id];
    if (!try_set(words_of(id) + repair_word_, index)) return false;
    life.repair_used = std::max(life.repair_used, index + 1);
    return true;
  }

  struct Merged {
    uint32_t slots = 0;   ///< that were not in before
    uint32_t chunks = 0;  ///< that they made whole
  };
  /// The data slots 64 * `word` + i, for each bit i of `bits`; all of them were armed.
  Merged merge(uint32_t id, uint32_t word, uint64_t bits);

  /// The message has `slots` data slots, no more than were armed: its last chunk may be shorter.
  /// Whether that made it whole.
  bool set_length(uint32_t id, uint32_t slots);

  // Words with their lowest bit first; valid as long as the map.
  const uint64_t* data_words(uint32_t id) const { return words_of(id); }
  const uint64_t* repair_words(uint32_t id) const { return words_of(id) + repair_word_; }
  const uint64_t* chunk_words(uint32_t id) const { return words_of(id) + chunk_word_; }

  /// Of all ids.
  size_t bytes() const { return size_t{limits_.ids} * line_count_ * sizeof(Line); }

 private:
  struct alignas(64) Line {
    uint64_t words[8];
  };
  struct Life {
    uint32_t slots = 0;        ///< as armed
    uint32_t data_end = 0;     ///< the same, or less after a length
    uint32_t data_used = 0;    ///< one beyond the highest that is in
    uint32_t repair_used = 0;  ///< the same
  };

  static bool is_set(const uint64_t* words, uint32_t slot) {
    return (words[slot / 64] >> slot % 64 & 1) != 0;
  }
  static bool try_set(uint64_t* words, uint32_t slot) {
    const uint64_t bit = uint64_t{1} << slot % 64;
    uint64_t& word = words[slot / 64];
    if ((word & bit) != 0) return false;
    word |= bit;
    return true;
  }
  const uint64_t* words_of(uint32_t id) const { return lines_[size_t{id} * line_count_].words; }
  uint64_t* words_of(uint32_t id) { return lines_[size_t{id} * line_count_].words; }
  uint32_t* counts_of(uint32_t id) {
    return reinterpret_cast<uint32_t*>(words_of(id) + count_word_);
  }

  // A division as a multiplication: the inverse is 2^40 / chunk_slots rounded up, and with slot
  // < 2^24 and chunk_slots < 2^16 the error, slot x (chunk_slots - 1), stays below 2^40.
  uint32_t chunk_of(uint32_t slot) const {
    return static_cast<uint32_t>(uint64_t{slot} * chunk_inverse_ >> 40);
  }
  /// One beyond a chunk's last slot; the last chunk of a message may have fewer than the others.
  uint32_t chunk_end(const Life& life, uint32_t chunk) const {
    return static_cast<uint32_t>(
        std::min<uint64_t>((uint64_t{chunk} + 1) * limits_.chunk_slots, life.slots));
  }
  bool publish(uint32_t id, uint32_t chunk) { return try_set(words_of(id) + chunk_word_, chunk); }
  /// Counts slots that are now in; whether they made the chunk whole, which is then published.
  bool fill_chunk(uint32_t id, uint32_t chunk, uint32_t slots) {
    const Life& life = lives_[id];
    const uint32_t whole = chunk_end(life, chunk) - chunk * limits_.chunk_slots;
    const uint32_t in = counts_of(id)[chunk] += slots;
    if (in == whole) [[unlikely]]
      return publish(id, chunk);
    if (life.data_end == life.slots) [[likely]]
      return false;
    return is_cut(life, chunk) && is_cut_whole(id, chunk) && publish(id, chunk);
  }
  /// Whether the length ends the message within this chunk: that is whole without the slots behind,
  /// whether one of these has come or not. So it is asked by its bits.
  bool is_cut(const Life& life, uint32_t chunk) const {
    return life.data_end < life.slots && chunk == chunk_of(life.data_end) &&
           life.data_end != chunk * limits_.chunk_slots;
  }
  uint64_t mask_of_chunk(uint32_t first, uint32_t lowest, uint32_t chunk) const;
  bool is_cut_whole(uint32_t id, uint32_t chunk) const;

  const SlotMapLimits limits_;
  uint64_t chunk_inverse_ = 0;
  uint64_t even_mask_ = 0;  // where chunks lie evenly in words: the bits of a word's first
  uint32_t repair_word_ = 0, chunk_word_ = 0, count_word_ = 0;
  uint32_t line_count_ = 0;  // of one id
  Table<Line> lines_{0};
  Table<Life> lives_{0};
};

}  // namespace cw
