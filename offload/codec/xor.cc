// Interleaved parity: repair shard g is the sum of the data shards i with i mod m = g, so that a
// burst of up to m lost shards in a row hits every group at most once. Each group repairs one loss.
// A group without data (k < m, in a short block) has a repair shard of zeros.
#include <cstring>

#include "offload/codec/ids.h"

namespace cw::code {
namespace {

constexpr const char* name = "xor";

struct alignas(64) Header {
  uint32_t k, m, shard_bytes;

  uint32_t group_of(uint32_t id) const { return id % m; }
  /// Data shards of the group.
  uint32_t group_size(uint32_t group) const { return group < k ? (k - group - 1) / m + 1 : 0; }
};

/// The solution of the last row.
struct Solution {
  LastRow last;
  std::array<uint32_t, shards_max> end;  ///< of each wanted shard's sources
};

/// One row in steps: per group the sum of what was taken of it, data and repair alike.
struct alignas(64) State {
  Present taken;
  uint8_t* sum(const Header& shape, uint32_t group) {
    return reinterpret_cast<uint8_t*>(this + 1) + size_t{group} * shape.shard_bytes;
  }
};

int sizes(const cw_shape* shape, cw_codec_sizes* sizes, char* why, size_t capacity) {
  if (const int code = check_shape(name, *shape, why, capacity); code != 0) return code;
  sizes->table_bytes = sizeof(Header);
  sizes->scratch_bytes = sizeof(Solution);
  sizes->state_bytes = sizeof(State) + uint64_t{shape->m} * shape->shard_bytes;
  return 0;
}

void generate(const cw_shape* shape, void* table) {
  *static_cast<Header*>(table) = {shape->k, shape->m, shape->shard_bytes};
}

uint32_t missing_in(const Header& shape, const Present& present, uint32_t group) {
  uint32_t count = 0;
  for (uint32_t i = group; i < shape.k; i += shape.m) count += !present.data.has(i);
  return count;
}

/// Whether all of `wanted` can be made. NEED counts what the groups concerned lack at least;
/// SINGULAR is said when there are k shards, only not the right ones.
uint32_t can_make(const Header& shape, const Present& present, Shards wanted, uint32_t* need) {
  ShardSet named, groups;
  *need = 0;
  for (const cw_shard& shard : wanted) {
    if (!present.lacks(shard.id, shape.k) || !named.add(shard.id)) return CW_DECODE_SINGULAR;
    const uint32_t group = shape.group_of(shard.id);
    if (!groups.add(group)) continue;
    *need += missing_in(shape, present, group) - present.repair.has(group);
  }
  if (*need == 0) return CW_DECODE_DONE;
  if (present.data.count() + present.repair.count() < shape.k) return CW_DECODE_NEED;
  *need = 0;
  return CW_DECODE_SINGULAR;
}

// ---- at once -----------------------------------------------------------------------------------

void encode(const void* table, const cw_shard* data, const cw_shard* repair, uint32_t repair_count,
            void*) {
  const Header& shape = *static_cast<const Header*>(table);
  for (uint32_t r = 0; r < repair_count; ++r) {
    const uint32_t group = number_of(repair[r].id);
    if (!is_repair(repair[r].id) || group >= shape.m) continue;
    std::array<const uint8_t*, shards_max> sources;
    uint32_t count = 0;
    for (uint32_t i = group; i < shape.k; i += shape.m) sources[count++] = data[i].bytes;
    if (count == 0) {
      std::memset(repair[r].bytes, 0, shape.shard_bytes);
    } else {
      field_kernel().sum(shape.shard_bytes, count, sources.data(), repair[r].bytes);
    }
  }
}

/// Remembers where the shards of the wanted groups lie among `present`.
uint32_t solve(const Header& shape, Shards present, Shards wanted, Solution& solution,
               uint32_t* need) {
  Present there;
  std::array<uint8_t, shards_max> data, repair;
  for (uint32_t i = 0; i < present.size(); ++i) {
    const uint32_t id = present[i].id;
    if (!there.add(id, shape.k, shape.m)) continue;
    (is_repair(id) ? repair : data)[number_of(id)] = static_cast<uint8_t>(i);
  }
  const uint32_t result = can_make(shape, there, wanted, need);
  if (result != CW_DECODE_DONE) return result;
  uint32_t count = 0;
  for (uint32_t w = 0; w < wanted.size(); ++w) {
    const uint32_t group = shape.group_of(wanted[w].id);
    solution.last.sources[count++] = repair[group];
    for (uint32_t i = group; i < shape.k; i += shape.m) {
      if (i != wanted[w].id) solution.last.sources[count++] = data[i];
    }
    solution.end[w] = count;
  }
  solution.last.remember(present, wanted);
  return CW_DECODE_DONE;
}

uint32_t decode(const void* table, const cw_shard* present, uint32_t present_count,
                const cw_shard* wanted, uint32_t wanted_count, void* scratch, uint32_t* need) {
  const Header& shape = *static_cast<const Header*>(table);
  Solution& solution = *static_cast<Solution*>(scratch);
  const Shards there = row_of(present, present_count);
  const Shards asked(wanted, wanted_count);
  *need = 0;
  if (wanted_count == 0) return CW_DECODE_DONE;
  if (!solution.last.is_of(there, asked)) {
    const uint32_t result = solve(shape, there, asked, solution, need);
    if (result != CW_DECODE_DONE) return result;
  }
  uint32_t next = 0;
  for (uint32_t w = 0; w < wanted_count; ++w) {
    std::array<const uint8_t*, shards_max> sources;
    uint32_t count = 0;
    while (next < solution.end[w]) sources[count++] = present[solution.last.sources[next++]].bytes;
    field_kernel().sum(shape.shard_bytes, count, sources.data(), wanted[w].bytes);
  }
  return CW_DECODE_DONE;
}

// ---- in steps ----------------------------------------------------------------------------------

void start(const void* table, void* memory) {
  const Header& shape = *static_cast<const Header*>(table);
  State& state = *static_cast<State*>(memory);
  state.taken = {};
  std::memset(state.sum(shape, 0), 0, size_t{shape.m} * shape.shard_bytes);
}

void take(const void* table, void* memory, const cw_shard* shard) {
  const Header& shape = *static_cast<const Header*>(table);
  State& state = *static_cast<State*>(memory);
  if (!state.taken.add(shard->id, shape.k, shape.m)) return;
  const uint32_t number = number_of(shard->id);
  const uint32_t group = is_repair(shard->id) ? number : shape.group_of(number);
  add_shard(shape.shard_bytes, shard->bytes, state.sum(shape, group));
}

uint32_t can_give_repair(const Header& shape, const Present& taken, Shards wanted, uint32_t* need) {
  for (const cw_shard& shard : wanted) {
    const uint32_t group = number_of(shard.id);
    if (!is_repair(shard.id) || group >= shape.m || taken.repair.has(group)) {
      *need = 0;
      return CW_DECODE_SINGULAR;
    }
    *need += missing_in(shape, taken, group);
  }
  return *need == 0 ? CW_DECODE_DONE : CW_DECODE_NEED;
}

uint32_t give(const void* table, void* memory, const cw_shard* wanted, uint32_t wanted_count,
              uint32_t* need) {
  const Header& shape = *static_cast<const Header*>(table);
  State& state = *static_cast<State*>(memory);
  *need = 0;
  if (wanted_count == 0) return CW_DECODE_DONE;
  const Shards asked(wanted, wanted_count);
  const bool is_source = is_repair(wanted[0].id);
  const uint32_t result = is_source ? can_give_repair(shape, state.taken, asked, need)
                                    : can_make(shape, state.taken, asked, need);
  if (result != CW_DECODE_DONE) return result;
  for (const cw_shard& shard : asked) {
    const uint32_t number = number_of(shard.id);
    const uint32_t group = is_source ? number : shape.group_of(number);
    std::memcpy(shard.bytes, state.sum(shape, group), shape.shard_bytes);
  }
  return CW_DECODE_DONE;
}

constexpr cw_codec_ops ops = {
    .abi = CW_CODEC_ABI,
    .size = sizeof(cw_codec_ops),
    .name = name,
    .version = "1.0",
    .summary = "Interleaved parity: m groups of data shards, one loss repaired in each.",
    .wire_version = 1,
    .traits = CW_CODEC_IN_STEPS,
    .k_max = shards_max - 1,
    .m_max = shards_max - 1,
    .sizes = sizes,
    .generate = generate,
    .encode = encode,
    .decode = decode,
    .start = start,
    .take = take,
    .give = give,
    .forget = nullptr,
};

}  // namespace
}  // namespace cw::code

CW_CODEC_EXPORT(cw::code::ops)
