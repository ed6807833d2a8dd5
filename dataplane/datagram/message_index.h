// Where a message is kept, by the rank at its other end and its number.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/base/assert.h"

namespace cw::group {

/// Its upper bits are the better ones.
constexpr uint64_t message_hash(uint16_t rank, uint32_t message) {
  return (uint64_t{rank} << 32 | message) * 0x9e3779b97f4a7c15;
}

/// Open addressing, at most half full; what is removed leaves no trace. Thread: one. Allocates when
/// made. Cost: O(1).
class MessageIndex {
 public:
  static constexpr uint32_t none = UINT32_MAX;

  explicit MessageIndex(size_t messages_max)
      : entries_(std::bit_ceil(2 * messages_max + 1)), messages_max_(messages_max) {}

  /// The place that was said; none: it is not here.
  uint32_t find(uint16_t rank, uint32_t message) const {
    return entries_[seek(rank, message)].place;
  }

  /// Of what is not here; there is room.
  void add(uint16_t rank, uint32_t message, uint32_t place) {
    Entry& entry = entries_[seek(rank, message)];
    CW_ASSERT(entry.place == none && place != none && count_ < messages_max_);
    entry = {.message = message, .place = place, .rank = rank};
    ++count_;
  }
  /// Of what is here.
  void remove(uint16_t rank, uint32_t message) {
    size_t hole = seek(rank, message);
    CW_ASSERT(entries_[hole].place != none);
    --count_;
    // Who stands behind because this place was taken moves up.
    for (size_t at = next(hole); entries_[at].place != none; at = next(at)) {
      const size_t home = home_of(entries_[at].rank, entries_[at].message);
      if (distance(home, at) < distance(hole, at)) continue;
      entries_[hole] = entries_[at];
      hole = at;
    }
    entries_[hole] = {};
  }
  size_t count() const { return count_; }

 private:
  struct Entry {
    uint32_t message = 0;
    uint32_t place = none;
    uint16_t rank = 0;
  };
  size_t mask() const { return entries_.size() - 1; }
  size_t next(size_t at) const { return (at + 1) & mask(); }
  size_t distance(size_t from, size_t to) const { return (to - from) & mask(); }
  size_t home_of(uint16_t rank, uint32_t message) const {
    return (message_hash(rank, message) >> 32) & mask();
  }
  /// Where it stands, or would.
  size_t seek(uint16_t rank, uint32_t message) const {
    size_t at = home_of(rank, message);
    while (entries_[at].place != none &&
           (entries_[at].rank != rank || entries_[at].message != message)) {
      at = next(at);
    }
    return at;
  }

  std::vector<Entry> entries_;
  size_t messages_max_, count_ = 0;
};

}  // namespace cw::group
