#include "offload/coding/coder.h"

#include <algorithm>
#include <array>
#include <string>

#include "dataplane/base/limits.h"

namespace cw {
namespace {

/// Ids seen, each to be there once. Ids fit the shape, and the shape fits limits.h.
class Seen {
 public:
  bool add(uint32_t id) {
    const bool is_repair = (id & CW_REPAIR_ID) != 0;
    const uint32_t number = id & ~CW_REPAIR_ID;
    uint64_t& word = words_[is_repair ? 1 : 0][number / 64];
    const uint64_t bit = uint64_t{1} << number % 64;
    const bool is_new = (word & bit) == 0;
    word |= bit;
    return is_new;
  }
  bool add(std::span<const cw_shard> shards) {
    return std::ranges::all_of(shards, [&](const cw_shard& shard) { return add(shard.id); });
  }

 private:
  static_assert(limits::shards_per_block_max < 256);
  std::array<std::array<uint64_t, 4>, 2> words_{};
};

/// Whether ids rise, the usual order of a row: none is then there twice, and none needs marking.
bool do_rise(std::span<const cw_shard> shards) {
  bool rise = true;
  for (size_t i = 1; i < shards.size(); ++i) rise &= shards[i - 1].id < shards[i].id;
  return rise;
}

/// Whether one of `some` is among `all`, both rising.
bool do_meet(std::span<const cw_shard> some, std::span<const cw_shard> all) {
  const auto is_there = [&](const cw_shard& shard) {
    return std::ranges::binary_search(all, shard.id, {}, &cw_shard::id);
  };
  return std::ranges::any_of(some, is_there);
}

CodeResult result_of(uint32_t said, uint32_t need) {
  if (said == CW_DECODE_DONE) return {Coded::Done};
  return said == CW_DECODE_NEED ? CodeResult{Coded::NeedMore, need} : CodeResult{Coded::Singular};
}

/// What a codec needs for a shape, if it is one that can be coded here.
Result<cw_codec_sizes> sizes_of(const cw_codec_ops& ops, const CodeShape& shape) {
  const std::string name = ops.name;
  if ((ops.traits & CW_CODEC_SLIDING) != 0) {
    return failure("codec " + name + " slides: blocks need a block code such as rs or xor");
  }
  if (uint64_t{shape.k} + shape.m > limits::shards_per_block_max) {
    return failure(
        name + ": k = " + std::to_string(shape.k) + " and m = " + std::to_string(shape.m) +
        " are too many together: k + m is at most " + std::to_string(limits::shards_per_block_max));
  }
  const cw_shape asked = {sizeof asked, shape.k, shape.m, shape.shard_bytes};
  cw_codec_sizes sizes{};
  char why[256] = "";
  if (ops.sizes(&asked, &sizes, why, sizeof why) != 0) {
    why[sizeof why - 1] = '\0';
    return failure(why[0] != '\0' ? why : "codec " + name + " refused its shape without a reason");
  }
  for (const uint64_t bytes : {sizes.table_bytes, sizes.scratch_bytes, sizes.state_bytes}) {
    if (bytes <= Coder::memory_max) continue;
    return failure("codec " + name + " asks for " + std::to_string(bytes) + " bytes where " +
                   std::to_string(Coder::memory_max) +
                   " are the most: choose a smaller k, m or slot");
  }
  return sizes;
}

constexpr CodeResult malformed = {Coded::Malformed};

}  // namespace

Coder::Coder(const cw_codec_ops& ops, const CodeShape& shape, const cw_codec_sizes& room)
    : ops_(&ops),
      shape_(shape),
      table_bytes_(room.table_bytes),
      scratch_bytes_(room.scratch_bytes),
      state_bytes_((ops.traits & CW_CODEC_IN_STEPS) != 0 ? room.state_bytes : 0),
      table_(1, room.table_bytes + 1) {}

Result<Coder> Coder::make(const cw_codec_ops& ops, const CodeShape& shape) {
  const auto sizes = sizes_of(ops, shape);
  if (!sizes) return std::unexpected(sizes.error());
  Coder coder(ops, shape, *sizes);
  CW_ASSERT(coder.try_become(ops, shape));
  return coder;
}

Result<Coder> Coder::make_room(std::span<const cw_codec_ops* const> codecs,
                               const CodeShape& largest) {
  cw_codec_sizes room{};
  for (const cw_codec_ops* ops : codecs) {
    for (uint32_t k = 1; k <= largest.k; ++k) {
      for (uint32_t m = 1; m <= largest.m && k + m <= limits::shards_per_block_max; ++m) {
        const auto sizes = sizes_of(*ops, {k, m, largest.shard_bytes});
        if (!sizes) return std::unexpected(sizes.error());
        room.table_bytes = std::max(room.table_bytes, sizes->table_bytes);
        room.scratch_bytes = std::max(room.scratch_bytes, sizes->scratch_bytes);
      }
    }
  }
  CW_ASSERT(!codecs.empty());
  return Coder(*codecs.front(), {}, room);
}

bool Coder::try_become(const cw_codec_ops& ops, const CodeShape& shape) {
  const cw_shape asked = {sizeof asked, shape.k, shape.m, shape.shard_bytes};
  cw_codec_sizes sizes{};
  char why[256];
  const bool has_room = ops.sizes(&asked, &sizes, why, sizeof why) == 0 &&
                        sizes.table_bytes <= table_bytes_ && sizes.scratch_bytes <= scratch_bytes_;
  if (!has_room) return false;
  ops_ = &ops;
  shape_ = shape;
  ++version_;
  ops.generate(&asked, table_.at(0));
  return true;
}

bool Coder::is_inside(uint32_t id) const {
  return (id & CW_REPAIR_ID) != 0 ? (id & ~CW_REPAIR_ID) < shape_.m : id < shape_.k;
}

bool Coder::may_encode(std::span<const cw_shard> data, std::span<const cw_shard> repair) const {
  if (data.size() != shape_.k) return false;
  uint32_t difference = 0;
  for (uint32_t i = 0; i < shape_.k; ++i) difference |= data[i].id ^ i;
  const auto is_repair = [&](const cw_shard& shard) {
    return (shard.id & CW_REPAIR_ID) != 0 && is_inside(shard.id);
  };
  if (difference != 0 || !std::ranges::all_of(repair, is_repair)) return false;
  return do_rise(repair) || Seen().add(repair);
}

CodeResult Coder::encode(std::span<const cw_shard> data, std::span<const cw_shard> repair,
                         void* scratch) const {
  if (!may_encode(data, repair)) return malformed;
  ops_->encode(table_.at(0), data.data(), repair.data(), static_cast<uint32_t>(repair.size()),
               scratch);
  return {};
}

bool Coder::are_inside(std::span<const cw_shard> shards) const {
  return std::ranges::all_of(shards, [&](const cw_shard& shard) { return is_inside(shard.id); });
}

bool Coder::may_decode(std::span<const cw_shard> present, std::span<const cw_shard> wanted) const {
  const auto is_data = [&](const cw_shard& shard) { return shard.id < shape_.k; };
  if (!are_inside(present) || !std::ranges::all_of(wanted, is_data)) return false;
  if (do_rise(present) && do_rise(wanted)) return !do_meet(wanted, present);
  Seen seen;
  return seen.add(present) && seen.add(wanted);
}

CodeResult Coder::decode(std::span<const cw_shard> present, std::span<const cw_shard> wanted,
                         void* scratch) const {
  if (!may_decode(present, wanted)) return malformed;
  uint32_t need = 0;
  const uint32_t said =
      ops_->decode(table_.at(0), present.data(), static_cast<uint32_t>(present.size()),
                   wanted.data(), static_cast<uint32_t>(wanted.size()), scratch, &need);
  return result_of(said, need);
}

void Coder::start(void* state) const {
  CW_DCHECK(state_bytes_ > 0);
  ops_->start(table_.at(0), state);
}

bool Coder::take(void* state, const cw_shard& shard) const {
  CW_DCHECK(state_bytes_ > 0);
  if (!is_inside(shard.id)) return false;
  ops_->take(table_.at(0), state, &shard);
  return true;
}

CodeResult Coder::give(void* state, std::span<const cw_shard> wanted) const {
  CW_DCHECK(state_bytes_ > 0);
  Seen seen;
  for (const cw_shard& shard : wanted) {
    const bool is_same_kind = ((shard.id ^ wanted[0].id) & CW_REPAIR_ID) == 0;
    if (!is_same_kind || !is_inside(shard.id) || !seen.add(shard.id)) return malformed;
  }
  uint32_t need = 0;
  const uint32_t said =
      ops_->give(table_.at(0), state, wanted.data(), static_cast<uint32_t>(wanted.size()), &need);
  return result_of(said, need);
}

}  // namespace cw
