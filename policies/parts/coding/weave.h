// How the slots of a block are woven into coded sets.
//
// A plain weave has one set, the block itself: row r holds every rows-th slot, so a burst of `rows`
// slots costs each row one. A layered weave covers the same slots several times, once per layer: in
// the layer of interleave i a row is `k` slots that lie i apart, with one repair slot.
//
//   slots            0  1  2  3  4  5  6  7      k = 2, layers 1 and 4
//   interleave 1     a  a  b  b  c  c  d  d      repairs 0 .. 3 of the block
//   interleave 4     e  f  g  h  e  f  g  h      repairs 4 .. 7
//
// The layer with interleave 1 repairs single losses from their neighbours, one of interleave i
// repairs a burst of i. A block is k slots of the widest interleave, so every layer has as many
// rows as that: the block's repair slots are cut evenly among the layers.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "dataplane/policy.h"
#include "policies/parts/bits.h"

namespace cw::policy {

/// A block as the core told it; `slots` 0: not told yet.
struct Block {
  uint32_t slot_first = 0, slots = 0, repair_first = 0;
  uint32_t codec = 0;
  uint16_t rows = 0;
  uint8_t k = 0, m = 0;

  static Block from(const cw_fact_block_closed& fact) {
    return {.slot_first = fact.slot_first,
            .slots = fact.slots,
            .repair_first = fact.repair_first,
            .codec = fact.codec,
            .rows = fact.rows,
            .k = fact.k,
            .m = fact.m};
  }
  bool is_told() const { return slots != 0; }
  SlotRun run() const { return {slot_first, slot_first + slots}; }
};

/// What is coded together; policy.h tells the rule.
struct CodedSet {
  uint32_t slot_first, slots, repair_first;
  uint16_t rows;
  uint8_t k, m;

  /// Calls `action(slot, column)` for every data slot of a row.
  template <class Action>
  void for_row(uint32_t row, Action&& action) const {
    for (uint32_t at = row, column = 0; at < slots; at += rows, ++column) {
      action(slot_first + at, column);
    }
  }
  uint32_t repair_of(uint32_t row, uint32_t shard) const {
    return repair_first + shard * rows + row;
  }
  SlotRun repairs() const { return {repair_first, repair_first + uint32_t{rows} * m}; }
};

class Weave {
 public:
  static constexpr uint32_t layers_max = 3;

  /// Plain: blocks are coded as they are.
  Weave() = default;
  /// Layered: `interleaves` rise, and the last is the rows of a full block.
  Weave(uint8_t k, std::span<const uint16_t> interleaves)
      : k_(k), layers_(static_cast<uint32_t>(std::min<size_t>(interleaves.size(), layers_max))) {
    std::copy_n(interleaves.begin(), layers_, interleaves_.begin());
  }

  /// The largest block that it can weave.
  uint32_t slots_max() const {
    return layers_ == 0 ? CW_UNKNOWN : uint32_t{k_} * interleaves_[layers_ - 1];
  }
  /// Visits the sets of a told block that can be coded, in the order of their repair slots.
  template <class Visit>
  void for_each(const Block& block, Visit&& visit) const {
    if (block.m == 0) return;
    if (layers_ == 0) {
      return visit(CodedSet{block.slot_first, block.slots, block.repair_first, block.rows, block.k,
                            block.m});
    }
    for (uint32_t layer = 0; layer < layers_; ++layer) {
      const uint32_t repair = block.repair_first + layer * interleaves_[layers_ - 1];
      for_layer(block, interleaves_[layer], repair, visit);
    }
  }

 private:
  template <class Visit>
  void for_layer(const Block& block, uint16_t interleave, uint32_t repair, Visit&& visit) const {
    for (uint32_t from = 0; from < block.slots; from += uint32_t{k_} * interleave) {
      const uint32_t slots = std::min(uint32_t{k_} * interleave, block.slots - from);
      const uint32_t rows = std::min<uint32_t>(interleave, (slots + k_ - 1) / k_);
      visit(CodedSet{block.slot_first + from, slots, repair, static_cast<uint16_t>(rows),
                     static_cast<uint8_t>((slots + rows - 1) / rows), 1});
      repair += rows;
    }
  }

  uint8_t k_ = 0;
  uint32_t layers_ = 0;
  std::array<uint16_t, layers_max> interleaves_{};
};

}  // namespace cw::policy
