// Counters and drop reasons, each declared once, in counters.def and drop_reasons.def. One worker
// writes its own set; any thread may read it, without a lock, at any time.
//
// Enumerators are spelled as in the tables, because that is how they appear in every tool.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cw {

enum class DropReason : uint16_t {
#define CW_DROP(name, sentence) name,
#include "dataplane/core/drop_reasons.def"
#undef CW_DROP
};

enum class Counter : uint16_t {
#define CW_COUNTER(name, sentence) name,
#include "dataplane/core/counters.def"
#undef CW_COUNTER
};

#define CW_COUNT_ONE(name, sentence) +1
inline constexpr size_t drop_reason_count = 0
#define CW_DROP CW_COUNT_ONE
#include "dataplane/core/drop_reasons.def"
#undef CW_DROP
    ;
inline constexpr size_t counter_count = 0
#define CW_COUNTER CW_COUNT_ONE
#include "dataplane/core/counters.def"
#undef CW_COUNTER
    ;
#undef CW_COUNT_ONE

/// As in the table. Thread: any.
std::string_view name_of(DropReason reason);
std::string_view sentence_of(DropReason reason);
std::string_view name_of(Counter counter);
std::string_view sentence_of(Counter counter);

/// Values at one time, or what was added between two.
template <class Key, size_t Count>
struct CountSnapshot {
  std::array<uint64_t, Count> values{};

  uint64_t operator[](Key key) const { return values[static_cast<size_t>(key)]; }
  uint64_t sum() const {
    uint64_t total = 0;
    for (const uint64_t value : values) total += value;
    return total;
  }
  /// Of another worker.
  void add(const CountSnapshot& other) {
    for (size_t i = 0; i < Count; ++i) values[i] += other.values[i];
  }
  /// What was added since `earlier`, a snapshot of the same set.
  CountSnapshot since(const CountSnapshot& earlier) const {
    CountSnapshot added;
    for (size_t i = 0; i < Count; ++i) added.values[i] = values[i] - earlier.values[i];
    return added;
  }
};

/// One worker's counts by key, from zero; they only grow.
template <class Key, size_t Count>
class CountSet {
 public:
  using Snapshot = CountSnapshot<Key, Count>;

  /// Thread: the one writer. Cost: a load and a store.
  void add(Key key, uint64_t n = 1) {
    std::atomic<uint64_t>& value = values_[static_cast<size_t>(key)];
    value.store(value.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  uint64_t read_any_thread(Key key) const {
    return values_[static_cast<size_t>(key)].load(std::memory_order_relaxed);
  }
  /// Each value is exact as of some moment during the call; not all as of the same one.
  Snapshot snapshot_any_thread() const {
    Snapshot snapshot;
    for (size_t i = 0; i < Count; ++i) {
      snapshot.values[i] = values_[i].load(std::memory_order_relaxed);
    }
    return snapshot;
  }

 private:
  std::array<std::atomic<uint64_t>, Count> values_{};
};

using Drops = CountSet<DropReason, drop_reason_count>;
using Counters = CountSet<Counter, counter_count>;

}  // namespace cw
