// A codec made ready for one shape: its table, and the check that stands between what the wire or
// a policy named and what a codec may be asked.
#pragma once

#include <cstdint>
#include <span>

#include "dataplane/base/memory/buffers.h"
#include "dataplane/base/result.h"
#include "dataplane/codec.h"

namespace cw {

struct CodeShape {
  uint32_t k = 0, m = 0;
  uint32_t shard_bytes = 0;  ///< a multiple of 64
};

enum class Coded : uint8_t {
  Done,       ///< everything wanted is written
  Singular,   ///< enough shards, but not the right ones: one more may help; nothing is written
  NeedMore,   ///< `need` more at least; nothing is written
  Malformed,  ///< ids outside the shape, twice there, or contradicting each other: not asked
};
struct CodeResult {
  Coded coded = Coded::Done;
  uint32_t need = 0;
};

/// Codes rows of one shape with one block code. One that was made with room for several codecs and
/// shapes may become another between two jobs.
///
/// The table of functions must outlive this. Scratch and states are the caller's, of the sizes
/// told, aligned to 64 bytes; scratch is zeroed before its first use here. Shards as codec.h asks.
/// Thread: any, at the same time with scratch and states of their own. Cost: make() is slow and
/// allocates, the rest does not.
class Coder {
 public:
  /// Errors: the codec's own sentence about the shape; a sliding code; sizes beyond `memory_max`.
  static Result<Coder> make(const cw_codec_ops& ops, const CodeShape& shape);

  /// One with memory for every shape up to `largest` of each of `codecs`; it has a shape only when
  /// try_become() has given it one. Errors: as make(), of any of these shapes that a codec refuses.
  static Result<Coder> make_room(std::span<const cw_codec_ops* const> codecs,
                                 const CodeShape& largest);
  /// Takes another shape, and a new version(). False when there is not the memory, or the codec
  /// refuses; the coder is then as it was. No job may be under way. Cost: slow, but no allocation.
  bool try_become(const cw_codec_ops& ops, const CodeShape& shape);
  /// Scratch of another version must be zeroed before it is used.
  uint32_t version() const { return version_; }

  /// Of each kind of memory that a codec may ask for.
  static constexpr uint64_t memory_max = uint64_t{1} << 30;

  const cw_codec_ops& ops() const { return *ops_; }
  const CodeShape& shape() const { return shape_; }
  /// Enough for every shape that there is room for.
  size_t scratch_bytes() const { return scratch_bytes_; }
  /// 0: this codec does not work in steps.
  size_t state_bytes() const { return state_bytes_; }

  /// Writes `repair` from data 0 .. k-1, which are given in that order.
  CodeResult encode(std::span<const cw_shard> data, std::span<const cw_shard> repair,
                    void* scratch) const;
  /// Writes `wanted`, data that is not present.
  CodeResult decode(std::span<const cw_shard> present, std::span<const cw_shard> wanted,
                    void* scratch) const;

  /// In steps; only where state_bytes() is not 0.
  void start(void* state) const;
  /// False, and nothing is taken, when the id lies outside the shape.
  bool take(void* state, const cw_shard& shard) const;
  /// `wanted`: repair only, or data only.
  CodeResult give(void* state, std::span<const cw_shard> wanted) const;

 private:
  Coder(const cw_codec_ops& ops, const CodeShape& shape, const cw_codec_sizes& room);
  bool is_inside(uint32_t id) const;
  bool are_inside(std::span<const cw_shard> shards) const;
  /// Whether the ids fit the shape, each is there once, and nothing is wanted that is present.
  bool may_encode(std::span<const cw_shard> data, std::span<const cw_shard> repair) const;
  bool may_decode(std::span<const cw_shard> present, std::span<const cw_shard> wanted) const;

  const cw_codec_ops* ops_;
  CodeShape shape_;
  size_t table_bytes_, scratch_bytes_, state_bytes_;
  uint32_t version_ = 0;
  Buffers table_;
};

}  // namespace cw
