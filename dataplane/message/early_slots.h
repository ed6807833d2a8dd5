// How many slots have left of messages for which nobody has posted memory yet.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "dataplane/datagram/message_index.h"

namespace cw::group {

/// Of those that were spoken of last: one message takes the place of another now and then, and what
/// is forgotten costs time but no message. Thread: one. Cost: O(1).
class EarlySlots {
 public:
  /// Messages are numbered from 1.
  void note(uint16_t rank, uint32_t message, uint32_t left) {
    Entry& entry = entries_[home_of(rank, message)];
    if (entry.message != message || entry.rank != rank) entry = {.message = message, .rank = rank};
    entry.left = std::max(entry.left, left);
  }
  /// 0: none, or it is not known any more.
  uint32_t find(uint16_t rank, uint32_t message) const {
    const Entry& entry = entries_[home_of(rank, message)];
    return entry.message == message && entry.rank == rank ? entry.left : 0;
  }

 private:
  static constexpr unsigned index_bits = 8;

  struct Entry {
    uint32_t message = 0;
    uint16_t rank = 0;
    uint32_t left = 0;
  };
  static size_t home_of(uint16_t rank, uint32_t message) {
    return message_hash(rank, message) >> (64 - index_bits);
  }

  std::array<Entry, size_t{1} << index_bits> entries_;
};

}  // namespace cw::group
