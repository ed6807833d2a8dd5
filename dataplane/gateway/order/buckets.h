// What streams know of their buckets (flow.h): which number comes next, and what waits for it.
//
// A stream has 65,536, most use a few at a time, and sooner or later each uses all. So those at
// hand are lent from one stock, of which each stream has its part (base/memory/stock.h). Who needs
// one more than he may have forgets one that rests: in which nothing waits and, where there is such
// a one, whose frames are of messages that are over. Who has more than his part forgets for the
// others, too.
//
// It is not known what comes next in a bucket that was forgotten. So its first frame waits until
// all that was sent before it has come or never will, as if a frame were missing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/base/memory/stock.h"
#include "dataplane/base/memory/table.h"
#include "dataplane/core/lazy_memory.h"
#include "dataplane/gateway/options.h"
#include "dataplane/gateway/order/held_row.h"
#include "dataplane/gateway/to_lan/frames.h"

namespace cw::gateway {

/// How far a row of numbers has come.
struct Front {
  BucketSeq next;
  MessageSeq message;  // where the frame began that `next` follows from
  uint32_t slot = 0;
};

struct Bucket {
  Front front;
  HeldRow held;
  uint32_t epoch = 0;     // of the stream; in a later one it begins anew
  bool is_known = false;  // what comes next
};

class BucketTable;

/// Thread: one. Memory: fifty bytes for each. Nothing allocates after the last BucketTable was
/// made.
class BucketStock {
 public:
  explicit BucketStock(size_t count);
  /// For what its streams keep of their buckets.
  TableMemory& memory() { return memory_; }

  static constexpr size_t bytes_each = 52;

 private:
  friend class BucketTable;
  static constexpr uint32_t none = UINT32_MAX;
  struct Node {
    Bucket bucket;
    uint32_t key = 0;         // the table's, and the bucket
    uint32_t chained = none;  // the next of its home
    uint32_t younger = none;  // the next of its table
  };

  uint32_t& home_of(uint32_t key) { return homes_[(key + (key >> 16) * 40'503) & mask_]; }
  uint32_t lend(BucketTable& table);

  LazyMemory memory_;  // of it and its tables
  Table<Node> nodes_;
  uint32_t mask_;
  std::vector<uint32_t> homes_;
  Stock lent_;
  uint32_t used_ = 0;
  std::vector<BucketTable*> tables_;
};

/// Of one stream. Thread: one. Nothing allocates after construction.
class BucketTable {
 public:
  /// Every bucket begins an epoch at `first`. A message's frames may come for as long as less than
  /// `messages` have begun after it. `stock` lives longer.
  BucketTable(BucketStock& stock, const Front& first, uint32_t messages);
  ~BucketTable();
  BucketTable(const BucketTable&) = delete;
  BucketTable& operator=(const BucketTable&) = delete;

  /// The frame's bucket; it stays at hand while something waits in it. Null: there is none. Cost:
  /// one look, mostly.
  Bucket* find(const ParsedFrame& frame) {
    const uint32_t key = key_ | frame.header.bucket;
    for (uint32_t at = stock_.home_of(key); at != BucketStock::none;) {
      BucketStock::Node& node = stock_.nodes_[at];
      if (node.key == key) {
        if (node.bucket.epoch != epoch_) begin(node);
        return &node.bucket;
      }
      at = node.chained;
    }
    return add(key, frame);
  }
  /// A new epoch: nothing waits any more, and all is known.
  void reset();
  uint32_t epoch() const { return epoch_; }
  size_t count() const { return lent_.held(); }

 private:
  friend class BucketStock;

  [[gnu::cold]] Bucket* add(uint32_t key, const ParsedFrame& frame);
  void begin(BucketStock::Node& node);
  uint32_t try_forget();
  void append(uint32_t index);
  uint32_t take_oldest();
  void unchain(uint32_t index);
  bool is_forgotten(uint32_t bucket) const {
    return (forgotten_[bucket / 64] >> bucket % 64 & 1) != 0;
  }

  BucketStock& stock_;
  const Front first_;
  const uint32_t messages_;
  Portion& lent_;
  const size_t number_;
  const uint32_t key_;
  uint32_t epoch_ = 1;
  MessageSeq newest_;  // when it needed one more, lately
  uint32_t oldest_ = BucketStock::none, youngest_ = BucketStock::none;
  Table<uint64_t> forgotten_;  // by bucket
  bool has_forgotten_ = false;
};

}  // namespace cw::gateway
