#include "tests/unit/policies/scripted_codes.h"

#include <algorithm>

#include "dataplane/base/assert.h"

namespace cw::policy_test {
namespace {

constexpr uint32_t xor_codec = 1;

uint32_t row_end(const cw_code& code) {
  return code.row_count == CW_UNKNOWN ? code.rows : code.row_first + code.row_count;
}

template <class Action>
void for_row(const cw_code& code, uint32_t row, Action&& action) {
  for (uint32_t at = row, column = 0; at < code.slots; at += code.rows, ++column) {
    action(code.slot_first + at, column);
  }
}

}  // namespace

bool has_bit(const std::vector<uint64_t>& bits, uint32_t at) {
  return (bits[at / 64] >> at % 64 & 1) != 0;
}

bool ScriptedCodes::holds(const cw_code& code, const cw_env& env, uint32_t data_end) {
  const uint32_t rows = code.rows, k = code.k, m = code.m;
  return rows >= 1 && rows <= env.rows && k >= 1 && k <= env.k && m >= 1 && k + m <= 255 &&
         rows * (k - 1) < code.slots && code.slots <= rows * k &&
         uint64_t{code.slot_first} + code.slots <= data_end &&
         uint64_t{code.repair_first} + uint64_t{rows} * m <= env.repair_slots_max &&
         row_end(code) <= rows && code.codec < env.codecs;
}

void ScriptedCodes::encode(const cw_code& code) {
  for (uint32_t row = code.row_first; row < row_end(code); ++row) {
    for (uint32_t shard = 0; shard < code.m; ++shard) {
      made_[code.repair_first + shard * code.rows + row] = {
          code.slot_first, code.slots, code.rows, code.k, row, shard, code.codec};
    }
  }
}

ScriptedCodes::Decoded ScriptedCodes::decode(const cw_code& code, const std::vector<uint64_t>& data,
                                             const std::vector<uint64_t>& repair) const {
  Decoded decoded;
  for (uint32_t row = code.row_first; row < row_end(code); ++row) {
    const uint32_t groups = code.codec == xor_codec ? code.m : 1;
    std::vector<uint32_t> missing, lacks(groups);
    for_row(code, row, [&](uint32_t slot, uint32_t column) {
      if (has_bit(data, slot)) return;
      missing.push_back(slot);
      ++lacks[column % groups];
    });
    uint32_t there = 0;
    for (uint32_t shard = 0; shard < code.m; ++shard) {
      const uint32_t index = code.repair_first + shard * code.rows + row;
      if (!has_bit(repair, index)) continue;
      const Origin named{code.slot_first, code.slots, code.rows, code.k, row, shard, code.codec};
      CW_ASSERT(made_.at(index) == named);
      ++there;
      lacks[shard % groups] -= lacks[shard % groups] > 0;
    }
    if (std::ranges::all_of(lacks, [](uint32_t count) { return count == 0; })) {
      decoded.rebuilt.insert(decoded.rebuilt.end(), missing.begin(), missing.end());
    } else if (missing.size() > there) {
      decoded.result = CW_CODED_NEED_MORE;
      decoded.need = std::max(decoded.need, static_cast<uint32_t>(missing.size()) - there);
    } else if (decoded.result == CW_CODED_OK) {
      decoded.result = CW_CODED_SINGULAR;
    }
  }
  return decoded;
}

}  // namespace cw::policy_test
