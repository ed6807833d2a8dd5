// The checked door of the codecs with ids, counts and orders that nobody should ask for, and the
// codecs themselves without the check: no crash, no byte written outside the shards named, and
// Done only with the right bytes.
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "dataplane/base/assert.h"
#include "offload/codec/codecs.h"
#include "offload/coding/coder.h"

namespace {
using namespace cw;

constexpr uint32_t shard_bytes = 64;

/// The fuzzer's bytes as a row of numbers; zeros when they run out.
class Input {
 public:
  Input(const uint8_t* bytes, size_t size) : bytes_(bytes), left_(size) {}
  uint8_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *bytes_++;
  }
  bool is_empty() const { return left_ == 0; }

 private:
  const uint8_t* bytes_;
  size_t left_;
};

/// Exactly `bytes`, for the sanitizer to see every step beside them.
using Memory = std::unique_ptr<uint8_t, decltype(&std::free)>;
Memory memory(size_t bytes) {
  Memory made(static_cast<uint8_t*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64 + 64)),
              std::free);
  std::memset(made.get(), 0, bytes);
  return made;
}

class Driver {
 public:
  Driver(const cw_codec_ops& ops, uint32_t k, uint32_t m, Input& input)
      : coder_(*Coder::make(ops, {k, m, shard_bytes})),
        input_(input),
        scratch_(memory(coder_.scratch_bytes())),
        state_(memory(coder_.state_bytes())),
        shards_(memory((k + m) * shard_bytes)),
        outputs_(memory(output_count * shard_bytes)) {
    for (uint32_t i = 0; i < k * shard_bytes; ++i) {
      shards_.get()[i] = static_cast<uint8_t>(i * 167 + i / 64);
    }
    std::vector<cw_shard> data, repair;
    for (uint32_t i = 0; i < k; ++i) data.push_back(shard(i));
    for (uint32_t j = 0; j < m; ++j) repair.push_back(shard(CW_REPAIR_ID | j));
    CW_ASSERT(coder_.encode(data, repair, scratch_.get()).coded == Coded::Done);
    coder_.start(state_.get());
  }

  void run() {
    while (!input_.is_empty()) {
      switch (input_.byte() % 5) {
        case 0:
          decode();
          break;
        case 1:
          coder_.take(state_.get(), shard(id()));
          break;
        case 2:
          give();
          break;
        case 3:
          coder_.start(state_.get());
          break;
        default:
          decode_unchecked();
          break;
      }
    }
  }

 private:
  static constexpr uint32_t output_count = 300;

  /// Mostly near the shape, sometimes anywhere.
  uint32_t id() {
    const uint8_t kind = input_.byte(), number = input_.byte();
    if (kind % 16 == 15) return uint32_t{number} << 24 | input_.byte();
    return (kind % 2 == 1 ? CW_REPAIR_ID : 0) | number % (coder_.shape().k + coder_.shape().m);
  }
  uint8_t* original(uint32_t id) const {
    const auto& [k, m, bytes] = coder_.shape();
    const uint32_t number = id & ~CW_REPAIR_ID;
    if ((id & CW_REPAIR_ID) != 0)
      return number < m ? shards_.get() + (k + number) * bytes : nullptr;
    return number < k ? shards_.get() + number * bytes : nullptr;
  }
  /// With the bytes that belong to the id, or those of shard 0.
  cw_shard shard(uint32_t id) const {
    uint8_t* const bytes = original(id);
    return {id, 0, coder_.shape().k, 0, bytes != nullptr ? bytes : shards_.get()};
  }
  std::vector<cw_shard> some() {
    std::vector<cw_shard> shards(input_.byte());
    for (cw_shard& s : shards) s = shard(id());
    return shards;
  }
  std::vector<cw_shard> wanted() {
    std::vector<cw_shard> shards(input_.byte() % 8);
    uint32_t n = 0;
    for (cw_shard& s : shards) s = {id(), 0, coder_.shape().k, 0, outputs_.get() + 64 * n++};
    return shards;
  }
  void expect_right(bool is_done, const std::vector<cw_shard>& shards) const {
    for (const cw_shard& s : shards) {
      if (!is_done) break;
      CW_ASSERT(original(s.id) != nullptr);
      CW_ASSERT(std::memcmp(s.bytes, original(s.id), shard_bytes) == 0);
    }
  }
  void decode() {
    const auto present = some(), asked = wanted();
    const CodeResult result = coder_.decode(present, asked, scratch_.get());
    expect_right(result.coded == Coded::Done, asked);
  }
  void give() {
    const auto asked = wanted();
    expect_right(coder_.give(state_.get(), asked).coded == Coded::Done, asked);
  }
  /// As a caller that checked nothing.
  void decode_unchecked() {
    const cw_shape shape = {sizeof shape, coder_.shape().k, coder_.shape().m, shard_bytes};
    cw_codec_sizes sizes;
    char why[100];
    CW_ASSERT(coder_.ops().sizes(&shape, &sizes, why, sizeof why) == 0);
    const Memory table = memory(sizes.table_bytes), scratch = memory(sizes.scratch_bytes);
    coder_.ops().generate(&shape, table.get());
    const auto present = some(), asked = wanted();
    uint32_t need = 0;
    const uint32_t said = coder_.ops().decode(
        table.get(), present.data(), static_cast<uint32_t>(present.size()), asked.data(),
        static_cast<uint32_t>(asked.size()), scratch.get(), &need);
    expect_right(said == CW_DECODE_DONE, asked);
  }

  Coder coder_;
  Input& input_;
  Memory scratch_, state_, shards_, outputs_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  Input input(bytes, size);
  const cw_codec_ops& ops = *code::all()[input.byte() % 2];
  const uint32_t k = input.byte(), m = input.byte();
  if (!Coder::make(ops, {k, m, shard_bytes})) return 0;
  Driver(ops, k, m, input).run();
  return 0;
}
