// The memory behind a pool of packets: equal buffers, each beginning on a cache line. Taken once
// and touched when first used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "dataplane/base/assert.h"
#include "dataplane/base/memory/table.h"

namespace cw {

/// Thread: any, the buffers' content being the borrowers' affair.
class Buffers {
 public:
  /// `count` buffers of at least `bytes` each.
  Buffers(size_t count, size_t bytes)
      : count_(count),
        stride_(stride_for(bytes)),
        memory_(std::make_unique_for_overwrite<uint8_t[]>(count * stride_ + line_bytes)) {
    const size_t past_line = reinterpret_cast<uintptr_t>(memory_.get()) % line_bytes;
    first_ = memory_.get() + (line_bytes - past_line) % line_bytes;
  }
  /// The same in `memory`, which lives longer.
  Buffers(size_t count, size_t bytes, TableMemory& memory)
      : count_(count),
        stride_(stride_for(bytes)),
        first_(static_cast<uint8_t*>(memory.take(count * stride_))) {}

  uint8_t* at(size_t index) const {
    CW_DCHECK(index < count_);
    return first_ + index * stride_;
  }

  /// All of them, for who must tell a device where they lie.
  std::span<uint8_t> all() const { return {first_, count_ * stride_}; }

 private:
  static constexpr size_t line_bytes = 64;
  /// An odd number of cache lines: the first lines of all buffers must not share a few cache sets.
  static size_t stride_for(size_t bytes) {
    return ((bytes + line_bytes - 1) / line_bytes | 1) * line_bytes;
  }

  size_t count_, stride_;
  std::unique_ptr<uint8_t[]> memory_;
  uint8_t* first_ = nullptr;
};

}  // namespace cw
