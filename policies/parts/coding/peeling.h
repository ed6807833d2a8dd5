// What the codes of a block can rebuild from what there is.
//
// A row can be solved when its repair makes up for its holes. In a layered weave a slot that one
// layer rebuilds is a hole less in another layer's row, which may then be solvable too: peeling.
// Every question is put to a view of the block, which says which data slots are there and which
// repair slots: those in place, for what can be done now; those that may still come as well, for
// what there is hope of.
#pragma once

#include <array>
#include <cstdint>

#include "policies/parts/array.h"
#include "policies/parts/coding/coding_settings.h"

namespace cw::policy {

/// Bits of the data slots of one block. Memory for the largest block; thread: one.
class BlockBits {
 public:
  explicit BlockBits(uint32_t slots_max) : words_(slots_max / 64 + 1) {}
  BlockBits(const cw_env& env, uint32_t slots_max) : words_(env, slots_max / 64 + 1) {}

  bool is_ready() const { return words_.is_ready(); }
  /// Fills in the bits of [run.first, run.end) from a bitmap of the whole message.
  template <class WordAt>
  void take(SlotRun run, const WordAt& word_at) {
    first_ = run.first;
    for (uint32_t at = 0; at * 64 < run.count(); ++at) {
      const uint32_t slot = run.first + at * 64, shift = slot % 64;
      uint64_t word = word_at(slot / 64) >> shift;
      if (shift != 0 && slot / 64 < (run.end - 1) / 64)
        word |= word_at(slot / 64 + 1) << (64 - shift);
      words_[at] = word;
    }
  }
  bool has(uint32_t slot) const { return (words_[at(slot)] >> bit(slot) & 1) != 0; }
  void set(uint32_t slot) { words_[at(slot)] |= uint64_t{1} << bit(slot); }

 private:
  uint32_t at(uint32_t slot) const { return (slot - first_) / 64; }
  uint32_t bit(uint32_t slot) const { return (slot - first_) % 64; }

  uint32_t first_ = 0;
  Array<uint64_t> words_;
};

enum class RowState : uint8_t { Whole, Solvable, Beyond };

/// `has_repair(index)` says whether repair slot `index` counts as there.
template <class HasRepair>
RowState look_at_row(const CodedSet& set, uint32_t row, Codec codec, const BlockBits& data,
                     const HasRepair& has_repair) {
  // XOR repairs one loss per group; one group of rs has m repair shards for all.
  const uint32_t groups = codec == Codec::Xor ? set.m : 1;
  std::array<uint8_t, 256> missing{};
  bool is_whole = true;
  set.for_row(row, [&](uint32_t slot, uint32_t column) {
    if (data.has(slot)) return;
    ++missing[column % groups];
    is_whole = false;
  });
  if (is_whole) return RowState::Whole;
  for (uint32_t shard = 0; shard < set.m; ++shard) {
    uint8_t& left = missing[shard % groups];
    if (left > 0 && has_repair(set.repair_of(row, shard))) --left;
  }
  for (uint32_t group = 0; group < groups; ++group) {
    if (missing[group] > 0) return RowState::Beyond;
  }
  return RowState::Solvable;
}

/// The rows of a set that can be solved as it stands, as the run that covers them.
template <class HasRepair>
SlotRun solvable_rows(const CodedSet& set, Codec codec, const BlockBits& data,
                      const HasRepair& has_repair) {
  SlotRun rows{set.rows, 0};
  for (uint32_t row = 0; row < set.rows; ++row) {
    if (look_at_row(set, row, codec, data, has_repair) != RowState::Solvable) continue;
    rows = {std::min(rows.first, row), row + 1};
  }
  return rows;
}

/// Sets in `data` whatever can be rebuilt, by one layer or by several after each other.
template <class HasRepair>
void peel(const Weave& weave, const Block& block, Codec codec, BlockBits& data,
          const HasRepair& has_repair) {
  // Each pass but the last rebuilds something; a loss takes few passes, a block never more than
  // its slots.
  for (bool has_news = true; has_news;) {
    has_news = false;
    weave.for_each(block, [&](const CodedSet& set) {
      for (uint32_t row = 0; row < set.rows; ++row) {
        if (look_at_row(set, row, codec, data, has_repair) != RowState::Solvable) continue;
        set.for_row(row, [&](uint32_t slot, uint32_t) { data.set(slot); });
        has_news = true;
      }
    });
  }
}

}  // namespace cw::policy
