// What is coded together, as policy.h says it: data slots of a message, row by row, and the repair
// slots made of them.
//
//   slot_first + c * rows + r         c = 0 .. k - 1      data shard c of row r; zeros beyond
//   `slots` D + repair_first + j * rows + r   j = 0 .. m - 1      repair shard j of row r
#pragma once

#include <cstdint>
#include <optional>

#include "dataplane/policy.h"
#include "dataplane/sdr/stream/stream_config.h"

namespace cw::sdr {

/// Of a message; all numbers fit the stream's configuration once misfit_of() had nothing to say.
struct CodedSet {
  uint32_t slot_first = 0, slots = 0;
  uint32_t repair_first = 0;  ///< counted from D
  uint16_t rows = 0;
  uint8_t k = 0, m = 0;
  uint32_t codec = 0;

  static CodedSet of(const cw_code& code) {
    return {code.slot_first, code.slots, code.repair_first, code.rows, code.k, code.m, code.codec};
  }
  /// What a policy is told of it, as a block of a message.
  cw_fact_block_closed closed(uint32_t message, uint32_t block, void* state) const {
    return {.message = message,
            .block = block,
            .slots = slots,
            .rows = rows,
            .k = k,
            .m = m,
            .slot_first = slot_first,
            .repair_first = repair_first,
            .codec = codec,
            .reserved = 0,
            .state = state};
  }
  uint32_t slots_end() const { return slot_first + slots; }
  /// Whether the row has that data shard; else it counts as zeros.
  bool has_shard(uint32_t c, uint32_t row) const { return c * rows + row < slots; }
  uint32_t slot_of(uint32_t c, uint32_t row) const { return slot_first + c * rows + row; }
  uint32_t repair_of(uint32_t j, uint32_t row) const { return repair_first + j * rows + row; }

  bool operator==(const CodedSet&) const = default;
};

/// Whether rows, k and slots make a shape within that of the policy's blocks.
inline bool has_shape(const BlockShape& most, const CodedSet& set) {
  const uint64_t slots = set.slots, rows = set.rows;
  return rows >= 1 && rows <= most.rows && set.k >= 1 && set.k <= most.k &&
         set.k + set.m <= static_cast<int>(limits::shards_per_block_max) &&
         slots > rows * (set.k - 1u) && slots <= rows * set.k;
}

/// Whether the rows that a code names are the set's.
inline bool has_rows(const cw_code& code) {
  if (code.row_first >= code.rows || code.row_count == 0) return false;
  return code.row_count == CW_UNKNOWN || code.row_count <= code.rows - code.row_first;
}

/// Why a set cannot be coded in a message with `slots_end` data slots.
inline std::optional<cw_refusal> misfit_of(const BlockShape& most, const CodedSet& set,
                                           uint32_t codecs, uint32_t slots_end) {
  if (set.codec >= codecs) return CW_REFUSED_CODEC;
  const uint64_t repair_end = uint64_t{set.repair_first} + uint64_t{set.m} * set.rows;
  const bool is_inside = uint64_t{set.slot_first} + set.slots <= slots_end &&
                         repair_end <= uint64_t{most.m_cap} * most.blocks;
  const bool has_repair = set.m >= 1 && set.m <= most.m_cap;
  if (!has_shape(most, set) || !has_repair || !is_inside) return CW_REFUSED_RANGE;
  return std::nullopt;
}

}  // namespace cw::sdr
