// What the sender has said of the blocks of its messages, by place and block. Blocks lie in a row
// and none is empty, so each one says where others can be, however many of them are unknown yet.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "dataplane/base/memory/table.h"
#include "dataplane/sdr/seat/code/coded_set.h"

namespace cw::sdr {

class KnownBlocks {
 public:
  /// In `memory`, where zeros are what is forgotten.
  KnownBlocks(uint32_t messages, uint32_t blocks_max, TableMemory& memory)
      : blocks_max_(blocks_max),
        words_((blocks_max + 63) / 64),
        sets_(size_t{messages} * blocks_max, &memory),
        known_(size_t{messages} * words_, &memory) {}

  void forget(uint32_t place) {
    std::fill_n(&sets_[size_t{place} * blocks_max_], blocks_max_, CodedSet{});
    std::fill_n(&known_[size_t{place} * words_], words_, 0);
  }
  /// Without slots: not known.
  const CodedSet& at(uint32_t place, uint32_t block) const {
    return sets_[size_t{place} * blocks_max_ + block];
  }
  void set(uint32_t place, uint32_t block, const CodedSet& set) {
    sets_[size_t{place} * blocks_max_ + block] = set;
    known_[size_t{place} * words_ + block / 64] |= uint64_t{1} << block % 64;
  }

  /// Whether the set fits between the nearest that are known before and behind: right at them where
  /// they are its neighbours, else with a slot at least for each block between. Cost: of a word per
  /// 64 blocks.
  bool has_room_for(uint32_t place, uint32_t block, const CodedSet& set) const {
    const uint32_t before = last_known(place, block), behind = first_known(place, block + 1);
    const uint64_t begin = before == none ? 0 : at(place, before).slots_end();
    const uint64_t blocks_before = before == none ? block : block - before - 1;
    if (blocks_before == 0 ? set.slot_first != begin : set.slot_first < begin + blocks_before) {
      return false;
    }
    if (behind == none) return true;
    const uint64_t end = at(place, behind).slot_first, blocks_behind = behind - block - 1;
    return blocks_behind == 0 ? set.slots_end() == end : set.slots_end() + blocks_behind <= end;
  }

 private:
  static constexpr uint32_t none = UINT32_MAX;

  uint64_t word(uint32_t place, uint32_t index) const {
    return known_[size_t{place} * words_ + index];
  }
  /// Below `end`.
  uint32_t last_known(uint32_t place, uint32_t end) const {
    uint32_t index = end / 64;
    uint64_t bits = end % 64 == 0 ? 0 : word(place, index) & ((uint64_t{1} << end % 64) - 1);
    while (bits == 0 && index > 0) bits = word(place, --index);
    return bits == 0 ? none : index * 64 + 63 - static_cast<uint32_t>(std::countl_zero(bits));
  }
  uint32_t first_known(uint32_t place, uint32_t begin) const {
    uint32_t index = begin / 64;
    if (index == words_) return none;
    uint64_t bits = word(place, index) & ~uint64_t{0} << begin % 64;
    while (bits == 0 && ++index < words_) bits = word(place, index);
    return bits == 0 ? none : index * 64 + static_cast<uint32_t>(std::countr_zero(bits));
  }

  uint32_t blocks_max_, words_;
  Table<CodedSet> sets_;
  Table<uint64_t> known_;  // a bit each
};

}  // namespace cw::sdr
