// A queue at which writes of a peer arrive: each takes one receive request, which names no memory.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "dataplane/port/verbs/device/handles.h"

namespace cw::verbs {

/// In whose hands a queue is, besides what its epoch's stage says: the turn's while it is Whole,
/// the keeper's while it is Broken. What the keeper has Mended the turn takes back.
enum class Health : uint8_t { Whole, Broken, Mended };

/// Receive requests without memory, for rows of them. Thread: one.
class ReceiveRow {
 public:
  static constexpr uint32_t requests_max = 64;

  ReceiveRow() {
    for (size_t i = 0; i + 1 < requests_.size(); ++i) requests_[i].next = &requests_[i + 1];
  }
  /// `count` of them, which completions will call `tag`. False: the queue takes no more.
  bool post(ibv_qp& pair, uint64_t tag, uint32_t count) {
    ibv_recv_wr* const first = &requests_[requests_max - count];
    for (ibv_recv_wr* each = first; each != nullptr; each = each->next) each->wr_id = tag;
    ibv_recv_wr* refused = nullptr;
    return ibv_post_recv(&pair, first, &refused) == 0;
  }

 private:
  std::array<ibv_recv_wr, requests_max> requests_{};
};

/// How many requests the device has.
struct Posted {
  uint32_t count = 0;  ///< and not completed
  // Of these, how many are left of those that were there when nothing waited to be read: once none
  // is, the device may have had none.
  uint32_t lull = 0, left = 0;

  /// One has been completed, after as many lulls; true: it may have been the last.
  bool take_one(uint32_t lulls) {
    if (lull != lulls) left = count;
    lull = lulls;
    --count;
    return --left == 0;
  }
};

struct Receiver {
  QueuePair pair;
  uint64_t tag = 0;    ///< of its receive requests: another one after each repair
  uint32_t depth = 0;  ///< how many it holds
  Posted posted;
  std::atomic<Health> health{Health::Whole};
  bool is_found_broken = false;  ///< the turn's: it gives it to the keeper when it looks next

  /// The turn's to use: what has been mended receives at once.
  bool is_ours() const {
    return !is_found_broken && health.load(std::memory_order_acquire) != Health::Broken;
  }
  /// Once there is room for a row, or for a quarter of all. False: it is broken.
  bool fill(ReceiveRow& row) {
    const uint32_t least = std::clamp(depth / 4, 1u, ReceiveRow::requests_max);
    while (depth - posted.count >= least) {
      const uint32_t count = std::min(depth - posted.count, ReceiveRow::requests_max);
      if (!row.post(*pair, tag, count)) return false;
      posted.count += count;
    }
    return true;
  }
};

}  // namespace cw::verbs
