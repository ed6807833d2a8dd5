// What the streams of all peers and classes share on their way to the LAN: memory for messages, the
// rows of their slots, places for frames, buckets. So it is as much as the line brings, and not as
// many times that as there are streams; each has its part of it, the rest is common
// (base/memory/stock.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "dataplane/base/result.h"
#include "dataplane/core/counters.h"
#include "dataplane/core/large_memory.h"
#include "dataplane/gateway/order/buckets.h"
#include "dataplane/gateway/to_lan/frames.h"
#include "dataplane/gateway/to_lan/slot_rows.h"
#include "dataplane/sdr/recv_buffers.h"

namespace cw::gateway {

struct InboundStockOptions {
  size_t streams = 1;
  size_t messages = 16;  ///< that one stream would need, were it alone
  uint32_t data_slots_max = 2048, payload_bytes_max = 1024;  ///< of the largest
  size_t frames = 65'536;         ///< of one stream alone, held or on their way out
  size_t buckets = bucket_count;  ///< of one stream alone, at hand

  uint64_t message_bytes() const { return uint64_t{data_slots_max} * payload_bytes_max; }
  /// What make() takes, about: to be compared with what the machine has.
  uint64_t memory_bytes() const;
};

/// Thread: the gateway's. Lives longer than who has a part of it.
class InboundStock {
 public:
  /// `drops` lives longer. Errors: memory.
  static Result<std::unique_ptr<InboundStock>> make(const InboundStockOptions& options,
                                                    Drops& drops);

  sdr::RecvBuffers& buffers() { return buffers_; }
  SlotRowStock& rows() { return rows_; }
  FrameStock& frames() { return frames_; }
  BucketStock& buckets() { return buckets_; }
  Drops& drops() { return drops_; }

 private:
  InboundStock(const InboundStockOptions& options, LargeMemory memory, Drops& drops);

  LargeMemory memory_;  // not touched before a slot arrives there
  sdr::RecvBuffers buffers_;
  SlotRowStock rows_;
  FrameStock frames_;
  BucketStock buckets_;
  Drops& drops_;
};

}  // namespace cw::gateway
