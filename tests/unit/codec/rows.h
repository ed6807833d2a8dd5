// Rows of shards to be coded, and a field and a code written as plainly as possible beside ours.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <set>
#include <vector>

#include "dataplane/base/memory/buffers.h"
#include "dataplane/base/prng.h"
#include "offload/codec/codecs.h"
#include "offload/coding/coder.h"

namespace cw::codec_test {

inline constexpr uint32_t repair_bit = CW_REPAIR_ID;

/// Multiplication in GF(256) by shifting and reducing.
inline uint8_t naive_product(unsigned a, unsigned b) {
  unsigned sum = 0;
  for (; b != 0; b >>= 1) {
    if ((b & 1) != 0) sum ^= a;
    a <<= 1;
    if (a >= 256) a ^= 0x11d;
  }
  return static_cast<uint8_t>(sum);
}
/// Found by trying; remembered, because tests ask often.
inline uint8_t naive_inverse(unsigned a) {
  static const std::vector<uint8_t> inverses = [] {
    std::vector<uint8_t> found(256);
    for (unsigned x = 1; x < 256; ++x) {
      for (unsigned y = 1; y < 256; ++y) {
        if (naive_product(x, y) == 1) found[x] = static_cast<uint8_t>(y);
      }
    }
    return found;
  }();
  return inverses[a];
}

/// The coefficient of data shard i in repair shard j.
inline uint8_t naive_coefficient(const cw_codec_ops& ops, uint32_t m, uint32_t j, uint32_t i) {
  if (&ops == cw_codec_xor()) return i % m == j;
  return naive_inverse((255 - j) ^ i);
}

/// Whether the shards at hand determine every missing data shard: the rank of their rows over the
/// missing columns, by elimination.
inline bool is_determined(const cw_codec_ops& ops, uint32_t m, const std::vector<uint32_t>& missing,
                          const std::vector<uint32_t>& repair) {
  std::vector<std::vector<uint8_t>> rows;
  for (const uint32_t j : repair) {
    std::vector<uint8_t> row;
    for (const uint32_t i : missing) row.push_back(naive_coefficient(ops, m, j, i));
    rows.push_back(row);
  }
  size_t rank = 0;
  for (size_t column = 0; column < missing.size(); ++column) {
    const auto pivot = std::find_if(rows.begin() + static_cast<ptrdiff_t>(rank), rows.end(),
                                    [&](const auto& row) { return row[column] != 0; });
    if (pivot == rows.end()) return false;
    std::swap(*pivot, rows[rank]);
    const uint8_t inverse = naive_inverse(rows[rank][column]);
    for (size_t r = rank + 1; r < rows.size(); ++r) {
      const uint8_t factor = naive_product(rows[r][column], inverse);
      for (size_t c = 0; c < missing.size(); ++c) {
        rows[r][c] ^= naive_product(factor, rows[rank][c]);
      }
    }
    ++rank;
  }
  return true;
}

/// Working memory of a codec, where the sanitizers see its end.
class Memory {
 public:
  explicit Memory(size_t bytes)
      : memory_(static_cast<uint8_t*>(std::aligned_alloc(64, (bytes + 127) / 64 * 64)), std::free) {
    std::memset(memory_.get(), 0, (bytes + 127) / 64 * 64);
  }
  uint8_t* get() const { return memory_.get(); }

 private:
  std::unique_ptr<uint8_t, decltype(&std::free)> memory_;
};

/// One row: k data shards of which `used[i]` bytes are in use and the rest zero, m repair shards
/// and as many shards to rebuild into, all filled with rubbish until they are written.
class Row {
 public:
  Row(const CodeShape& shape, uint64_t seed) : Row(shape, seed, {}) {}
  /// Shards beyond `used`, and bytes beyond each, are not in use.
  Row(const CodeShape& shape, uint64_t seed, const std::vector<uint32_t>& used)
      : shape_(shape),
        data_(shape.k, shape.shard_bytes),
        repair_(shape.m, shape.shard_bytes),
        rebuilt_(shape.k, shape.shard_bytes) {
    Prng prng(seed);
    for (uint32_t i = 0; i < shape.k; ++i) {
      const uint32_t bytes = used.empty() ? shape.shard_bytes : i < used.size() ? used[i] : 0;
      std::memset(data_.at(i), 0, shape.shard_bytes);
      for (uint32_t b = 0; b < bytes; ++b) data_.at(i)[b] = static_cast<uint8_t>(prng.next());
      std::memset(rebuilt_.at(i), 0xee, shape.shard_bytes);
    }
    for (uint32_t j = 0; j < shape.m; ++j) std::memset(repair_.at(j), 0xdd, shape.shard_bytes);
  }

  cw_shard data(uint32_t i) const { return {i, 0, shape_.k, 0, data_.at(i)}; }
  cw_shard repair(uint32_t j) const { return {repair_bit | j, 0, shape_.k, 0, repair_.at(j)}; }
  cw_shard rebuilt(uint32_t i) const { return {i, 0, shape_.k, 0, rebuilt_.at(i)}; }

  std::vector<cw_shard> all_data() const {
    std::vector<cw_shard> shards;
    for (uint32_t i = 0; i < shape_.k; ++i) shards.push_back(data(i));
    return shards;
  }
  std::vector<cw_shard> all_repair() const {
    std::vector<cw_shard> shards;
    for (uint32_t j = 0; j < shape_.m; ++j) shards.push_back(repair(j));
    return shards;
  }
  bool is_rebuilt(uint32_t i) const {
    return std::memcmp(data_.at(i), rebuilt_.at(i), shape_.shard_bytes) == 0;
  }
  /// Nothing has been written where shard i would be rebuilt.
  bool is_untouched(uint32_t i) const {
    return std::all_of(rebuilt_.at(i), rebuilt_.at(i) + shape_.shard_bytes,
                       [](uint8_t byte) { return byte == 0xee; });
  }
  void forget(uint32_t i) { std::memset(rebuilt_.at(i), 0xee, shape_.shard_bytes); }

 private:
  CodeShape shape_;
  Buffers data_, repair_, rebuilt_;
};

/// Which shards of k + m arrived; bit i data, bit k + j repair.
struct Arrival {
  std::vector<uint32_t> missing, repair;
  std::vector<cw_shard> present, wanted;

  Arrival(const Row& row, const CodeShape& shape, const std::function<bool(uint32_t)>& arrived) {
    for (uint32_t i = 0; i < shape.k; ++i) {
      if (arrived(i)) {
        present.push_back(row.data(i));
      } else {
        missing.push_back(i);
        wanted.push_back(row.rebuilt(i));
      }
    }
    for (uint32_t j = 0; j < shape.m; ++j) {
      if (!arrived(shape.k + j)) continue;
      repair.push_back(j);
      present.push_back(row.repair(j));
    }
  }
};

}  // namespace cw::codec_test
