// What the block codes share: ids against a shape, which shards are there, and their table's entry.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <span>

#include "dataplane/codec.h"
#include "offload/codec/field.h"

// The function that a codec's file exports; in static form each has a name of its own.
#ifndef CW_CODEC_SYMBOL
#define CW_CODEC_SYMBOL cw_codec_table
#endif
#define CW_CODEC_EXPORT(ops)                                                                   \
  extern "C" __attribute__((visibility("default"))) const cw_codec_ops* CW_CODEC_SYMBOL(void); \
  const cw_codec_ops* CW_CODEC_SYMBOL(void) { return &(ops); }

namespace cw::code {

inline constexpr uint32_t shard_bytes_max = 1u << 30;

inline bool is_repair(uint32_t id) { return (id & CW_REPAIR_ID) != 0; }
inline uint32_t number_of(uint32_t id) { return id & ~CW_REPAIR_ID; }

inline uint64_t up_to_line(uint64_t bytes) { return (bytes + 63) & ~uint64_t{63}; }

/// Errors: as cw_codec_ops::sizes. Both codes take the same shapes.
inline int check_shape(const char* codec, const cw_shape& shape, char* why, size_t capacity) {
  const auto refuse = [&](const char* format, auto... values) {
    if (why != nullptr) std::snprintf(why, capacity, format, codec, values...);
    return -EINVAL;
  };
  if (shape.k == 0) return refuse("%s: k = 0 codes nothing: write 1 to 254");
  if (shape.m == 0) return refuse("%s: m = 0 repairs nothing: write 1 to 254");
  if (shape.k > shards_max || shape.m > shards_max - shape.k) {
    return refuse("%s: k = %u and m = %u are too many together: k + m is at most 255", shape.k,
                  shape.m);
  }
  if (shape.shard_bytes == 0 || shape.shard_bytes % 64 != 0 ||
      shape.shard_bytes > shard_bytes_max) {
    return refuse("%s: shard_bytes = %u is no multiple of 64 from 64 to 2^30", shape.shard_bytes);
  }
  return 0;
}

/// A set of shards of one kind.
class ShardSet {
 public:
  bool has(uint32_t number) const { return (words_[number / 64] >> number % 64 & 1) != 0; }
  /// False when it was there.
  bool add(uint32_t number) {
    const uint64_t bit = uint64_t{1} << number % 64;
    if ((words_[number / 64] & bit) != 0) return false;
    words_[number / 64] |= bit;
    ++count_;
    return true;
  }
  uint32_t count() const { return count_; }

 private:
  std::array<uint64_t, 4> words_{};
  uint32_t count_ = 0;
};

/// What is there of a row.
struct Present {
  ShardSet data, repair;

  /// False for what tells nothing new: an id outside the shape, or one that was there.
  bool add(uint32_t id, uint32_t k, uint32_t m) {
    const uint32_t number = number_of(id);
    if (is_repair(id)) return number < m && repair.add(number);
    return number < k && data.add(number);
  }
  /// Whether `id` is data that may be asked for.
  bool lacks(uint32_t id, uint32_t k) const { return id < k && !data.has(id); }
};

using Shards = std::span<const cw_shard>;

/// What may be of use among `count` shards: a row has no more than `shards_max`.
inline Shards row_of(const cw_shard* shards, uint32_t count) {
  return {shards, std::min<size_t>(count, shards_max)};
}

/// The ids of the last row that was solved, and where its sources lie, so that the next row with
/// the same ids is not looked through again. In zeroed memory it is of no row.
struct alignas(64) LastRow {
  uint32_t present_count, wanted_count;
  std::array<uint32_t, shards_max> present, wanted;
  std::array<uint8_t, shards_max> sources;  ///< places among the present

  bool is_of(Shards there, Shards asked) const {
    return are_same(there, present_count, present) && are_same(asked, wanted_count, wanted);
  }
  /// As many as shards_max of each.
  void remember(Shards there, Shards asked) {
    present_count = static_cast<uint32_t>(there.size());
    wanted_count = static_cast<uint32_t>(asked.size());
    for (uint32_t i = 0; i < present_count; ++i) present[i] = there[i].id;
    for (uint32_t i = 0; i < wanted_count; ++i) wanted[i] = asked[i].id;
  }

 private:
  static bool are_same(Shards shards, uint32_t count, const std::array<uint32_t, shards_max>& ids) {
    if (shards.size() != count) return false;
    uint32_t difference = 0;
    for (uint32_t i = 0; i < count; ++i) difference |= shards[i].id ^ ids[i];
    return difference == 0;
  }
};

}  // namespace cw::code
