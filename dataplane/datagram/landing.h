// Memory in which the slots of a step come to lie, and which of them are there: what is received is
// placed here, and what others lack is read here.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "dataplane/base/assert.h"
#include "dataplane/wire/group/slots.h"

namespace cw::group {

/// Bits by slot. Thread: one. Allocates when made.
class SlotBits {
 public:
  explicit SlotBits(uint32_t slots_max) : words_((slots_max + word_bits - 1) / word_bits) {}

  void clear(uint32_t slots) {
    std::fill_n(words_.begin(), (slots + word_bits - 1) / word_bits, uint64_t{0});
  }
  bool has(uint32_t slot) const { return (words_[slot / word_bits] >> slot % word_bits & 1) != 0; }
  /// False: it was set.
  bool try_set(uint32_t slot) {
    uint64_t& word = words_[slot / word_bits];
    const uint64_t bit = uint64_t{1} << slot % word_bits;
    if ((word & bit) != 0) return false;
    word |= bit;
    return true;
  }
  /// Bit s of word s / 64 is slot s; as long as these live.
  std::span<const uint64_t> words() const { return words_; }
  void reset(uint32_t slot) { words_[slot / word_bits] &= ~(uint64_t{1} << slot % word_bits); }
  /// The first slot from `from` on, below `end`, that neither of two has; `end`: there is none.
  static uint32_t first_of_neither(const SlotBits& a, const SlotBits& b, uint32_t from,
                                   uint32_t end) {
    while (from < end) {
      const size_t at = from / word_bits;
      const uint64_t free = ~(a.words_[at] | b.words_[at]) >> from % word_bits;
      if (free != 0) return std::min(end, from + static_cast<uint32_t>(std::countr_zero(free)));
      from = static_cast<uint32_t>((at + 1) * word_bits);
    }
    return end;
  }
  /// Likewise, the first that one has and the other has not.
  static uint32_t first_of_first_alone(const SlotBits& one, const SlotBits& other, uint32_t from,
                                       uint32_t end) {
    while (from < end) {
      const size_t at = from / word_bits;
      const uint64_t alone = (one.words_[at] & ~other.words_[at]) >> from % word_bits;
      if (alone != 0) return std::min(end, from + static_cast<uint32_t>(std::countr_zero(alone)));
      from = static_cast<uint32_t>((at + 1) * word_bits);
    }
    return end;
  }
  /// Of `count` from `first` on.
  uint32_t count_unset(uint32_t first, uint32_t count) const {
    uint32_t unset = 0;
    const uint32_t end = first + count;
    while (first < end) {
      const uint32_t here = std::min(end - first, word_bits - first % word_bits);
      const uint64_t mask = here == word_bits ? ~uint64_t{0} : (uint64_t{1} << here) - 1;
      unset += static_cast<uint32_t>(
          std::popcount(~(words_[first / word_bits] >> first % word_bits) & mask));
      first += here;
    }
    return unset;
  }

 private:
  static constexpr uint32_t word_bits = 64;
  std::vector<uint64_t> words_;
};

/// Thread: one. Nothing allocates once it is made.
class Landing {
 public:
  explicit Landing(uint32_t slots_max) : bits_(slots_max) {}

  void open(Step step, const Slots& slots, uint8_t* memory) {
    CW_ASSERT(!is_open_ && under_way_ == 0);
    step_ = step;
    slots_ = slots;
    memory_ = memory;
    placed_ = 0;
    is_open_ = true;
    bits_.clear(slots.count());
  }
  /// Nothing is placed any more; what is under way is read until it has left.
  void close() { is_open_ = false; }
  bool is_open() const { return is_open_; }
  Step step() const { return step_; }
  const Slots& slots() const { return *slots_; }

  bool has(uint32_t slot) const { return bits_.has(slot); }
  uint32_t placed_count() const { return placed_; }
  uint32_t missing_count() const { return slots_->count() - placed_; }
  const SlotBits& bits() const { return bits_; }
  uint8_t* at(uint32_t slot) const { return memory_ + slots_->offset_of(slot); }

  /// False: it had come before. Of a slot below the count, its bytes behind `bytes`.
  bool try_place(uint32_t slot, const uint8_t* bytes) {
    if (!bits_.try_set(slot)) return false;
    // Where members share memory, as simulated ones may, it lies there.
    if (at(slot) != bytes) std::memcpy(at(slot), bytes, slots_->bytes_of(slot));
    ++placed_;
    return true;
  }
  /// It lies there already.
  void claim(uint32_t slot) { placed_ += bits_.try_set(slot); }

  // Packets that name its memory.
  void lend() { ++under_way_; }
  void take_back() {
    CW_ASSERT(under_way_ > 0);
    --under_way_;
  }
  uint32_t under_way_count() const { return under_way_; }

 private:
  SlotBits bits_;
  Step step_;
  std::optional<Slots> slots_;
  uint8_t* memory_ = nullptr;
  uint32_t placed_ = 0, under_way_ = 0;
  bool is_open_ = false;
};

}  // namespace cw::group
