// What frames wait in, of all classes and peers: blocks that hold a few frames each, lent to the
// queue that grows, what was used last first. Each queue has its part (base/memory/stock.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "dataplane/base/assert.h"
#include "dataplane/base/limits.h"
#include "dataplane/base/memory/stock.h"
#include "dataplane/base/units.h"
#include "dataplane/core/large_memory.h"

namespace cw::gateway {

/// Cut into units of 32 bytes, numbered from one block to the next. Thread: the gateway's. Nothing
/// allocates after the last join().
class QueueMemory {
 public:
  static constexpr uint32_t unit_bytes = 32, block_units = 1024;
  static_assert(size_t{block_units} * unit_bytes >= 3 * limits::frame_bytes_max);

  /// For so many queues, of which one alone would need `alone`.
  QueueMemory(Bytes alone, size_t queues)
      : QueueMemory(Stock::count_for(blocks_for(alone), queues)) {}
  /// What the constructor takes.
  static Bytes bytes(Bytes alone, size_t queues) {
    return Bytes(Stock::count_for(blocks_for(alone), queues) * block_units * unit_bytes);
  }

  Portion& join() { return lent_.join(); }
  uint8_t* at(uint32_t unit) { return memory_.get() + size_t{unit} * unit_bytes; }
  /// The first unit of a block. There must be one, which a portion says.
  uint32_t take() {
    const uint32_t block = unused_;
    CW_ASSERT(block != none);
    unused_ = after_[block];
    return block * block_units;
  }
  /// By any unit of it.
  void give_back(uint32_t unit) {
    const uint32_t block = unit / block_units;
    after_[block] = unused_;
    unused_ = block;
  }
  /// The block that a lent one goes on in, which is its borrower's to say.
  uint32_t& after(uint32_t unit) { return after_[unit / block_units]; }

 private:
  static constexpr uint32_t none = UINT32_MAX;

  explicit QueueMemory(size_t blocks)
      : lent_(blocks),
        memory_(make_large_memory(blocks * block_units * unit_bytes)),
        after_(new uint32_t[blocks]()) {
    CW_ASSERT(memory_ != nullptr && blocks <= UINT32_MAX / block_units);
    for (size_t block = blocks; block-- > 0;) give_back(static_cast<uint32_t>(block * block_units));
  }
  /// The first and the last are seldom full.
  static size_t blocks_for(Bytes bytes) {
    return bytes.count() / (size_t{block_units} * unit_bytes) + 2;
  }

  Stock lent_;
  LargeMemory memory_;
  std::unique_ptr<uint32_t[]> after_;  // by block: of its queue, or of those not in use
  uint32_t unused_ = none;
};

}  // namespace cw::gateway
