// The memory of members in one operation after the other: what they have at first, and whether they
// come to have what they should.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "dataplane/collective/operation.h"

namespace cw::perf {

/// Thread: one.
class OperationMemory {
 public:
  /// What is posted, but for its memory. With `is_shared` members have theirs together, as
  /// simulated ones may: a slot that one of them puts into a wrong place is wrong for all.
  OperationMemory(const group::Posting& posting, uint16_t members, bool is_shared, uint64_t seed);
  /// Of one member, where others are processes of their own: all have for each other what this one
  /// has, where it is added up.
  OperationMemory(const group::Posting& posting, uint16_t members, uint16_t rank, uint64_t seed);

  /// Bytes that members would have of their own.
  static uint64_t bytes_of(const group::Posting& posting, uint16_t members);

  /// Each has its own, and nothing of what it is to get.
  void prepare();
  group::Posting posting_of(uint16_t rank);
  /// Bytes of all members, or of the one, that are not what they should be.
  uint64_t wrong() const;

 private:
  struct Memory {
    std::vector<uint8_t> landing, input;
  };
  Memory& of(uint16_t rank) { return memories_[is_shared_ ? 0 : rank]; }
  const Memory& of(uint16_t rank) const { return memories_[is_shared_ ? 0 : rank]; }
  void draw_elements(std::vector<uint8_t>& bytes, uint64_t seed) const;
  std::vector<uint8_t> sum_of(uint16_t rank) const;

  group::Posting posting_;
  uint16_t members_;
  bool is_shared_;
  std::optional<uint16_t> only_;  // whose it is; nothing: that of all
  std::vector<uint8_t> wanted_;   // of landings
  std::vector<Memory> memories_;
  std::vector<std::vector<uint8_t>> outputs_;
};

}  // namespace cw::perf
