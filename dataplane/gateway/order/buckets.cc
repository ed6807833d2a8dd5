#include "dataplane/gateway/order/buckets.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "dataplane/base/assert.h"

namespace cw::gateway {
namespace {

constexpr size_t forgotten_words = bucket_count / 64;

}  // namespace

BucketStock::BucketStock(size_t count)
    : nodes_(count, &memory_),
      mask_(static_cast<uint32_t>(std::bit_ceil(count) - 1)),
      homes_(size_t{mask_} + 1, none),
      lent_(count) {
  static_assert(sizeof(Node) + 2 * sizeof(uint32_t) <= bytes_each);
}

/// None is ever given back, but by who forgets one.
uint32_t BucketStock::lend(BucketTable& table) {
  if (table.lent_.try_take()) return used_++;
  for (BucketTable* other : tables_) {
    const bool has_more = other != nullptr && other->lent_.held() > other->lent_.own();
    const uint32_t index = has_more && other != &table ? other->try_forget() : none;
    if (index == none) continue;
    other->lent_.give_back();
    table.lent_.take();
    return index;
  }
  return table.try_forget();
}

BucketTable::BucketTable(BucketStock& stock, const Front& first, uint32_t messages)
    : stock_(stock),
      first_(first),
      messages_(messages),
      lent_(stock.lent_.join()),
      number_(stock.tables_.size()),
      key_(static_cast<uint32_t>(number_ << 16)),
      forgotten_(forgotten_words, &stock.memory_) {
  CW_ASSERT(number_ <= UINT16_MAX);
  stock.tables_.push_back(this);
}

BucketTable::~BucketTable() { stock_.tables_[number_] = nullptr; }

Bucket* BucketTable::add(uint32_t key, const ParsedFrame& frame) {
  newest_ = frame.seq;
  const uint32_t index = stock_.lend(*this);
  if (index == BucketStock::none) return nullptr;
  BucketStock::Node& node = stock_.nodes_[index];
  node.key = key;
  node.chained = std::exchange(stock_.home_of(key), index);
  append(index);
  begin(node);
  return &node.bucket;
}

void BucketTable::begin(BucketStock::Node& node) {
  const uint32_t bucket = node.key & UINT16_MAX;
  node.bucket = {first_, {}, epoch_, !is_forgotten(bucket)};
}

void BucketTable::reset() {
  ++epoch_;
  if (std::exchange(has_forgotten_, false)) {
    std::fill_n(forgotten_.get(), forgotten_words, uint64_t{0});
  }
}

// ---- forgetting ----

/// One that rests, of those that have been here longest; none: something waits in all of them.
uint32_t BucketTable::try_forget() {
  constexpr size_t looks_max = 16;
  for (const bool may_be_young : {false, true}) {
    for (size_t looks = std::min(looks_max, count()); looks > 0; --looks) {
      const uint32_t index = take_oldest();
      const BucketStock::Node& node = stock_.nodes_[index];
      const Bucket& it = node.bucket;
      const bool is_over = it.epoch != epoch_;
      const bool is_old = it.front.message.distance_to(newest_) >= int64_t{messages_};
      if (is_over || (it.held.is_empty() && (is_old || may_be_young))) {
        const uint32_t bucket = node.key & UINT16_MAX;
        if (!is_over) {
          has_forgotten_ = true;
          forgotten_[bucket / 64] |= uint64_t{1} << bucket % 64;
        }
        unchain(index);
        return index;
      }
      append(index);
    }
  }
  return BucketStock::none;
}

void BucketTable::append(uint32_t index) {
  stock_.nodes_[index].younger = BucketStock::none;
  (oldest_ == BucketStock::none ? oldest_ : stock_.nodes_[youngest_].younger) = index;
  youngest_ = index;
}

uint32_t BucketTable::take_oldest() {
  const uint32_t index = oldest_;
  oldest_ = stock_.nodes_[index].younger;
  return index;
}

void BucketTable::unchain(uint32_t index) {
  uint32_t* at = &stock_.home_of(stock_.nodes_[index].key);
  while (*at != index) at = &stock_.nodes_[*at].chained;
  *at = stock_.nodes_[index].chained;
}

}  // namespace cw::gateway
