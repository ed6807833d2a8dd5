// Memory that costs nothing until it is written: the kernel gives a page when something is first
// written there, a zeroed one, and takes all of them back in one call. So tables may be as long as
// the busiest line needs, and a link at rest has hardly any.
//
// A page that is touched for the first time, or again after rest(), costs its toucher a page fault.
// Small pages on purpose: of a large one a single byte would make all of it resident.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/base/memory/table.h"

namespace cw {

/// Thread: one. What was taken stays where it is when this moves. Where an address sanitizer looks,
/// each piece is an allocation of its own, all of it resident, and ends where it ends.
class LazyMemory final : public TableMemory {
 public:
  LazyMemory() = default;
  ~LazyMemory() override;
  LazyMemory(LazyMemory&& other) noexcept;
  LazyMemory& operator=(LazyMemory&& other) noexcept;

  /// Cost: a system call for every few.
  void* take(size_t bytes) override;
  /// All that was taken is zero again. Cost: mostly one system call, and 0.1 us for a page.
  void rest();

  /// What was taken, in whole pages, resident or not.
  size_t bytes() const { return bytes_; }
  /// Of these, what is resident. Cost: slow, for tests and reports.
  size_t resident_bytes() const;
  /// bytes() of all that live in this process, save those that are allocations. Thread: any.
  static size_t all_bytes();

 private:
  struct Range {
    uint8_t* first = nullptr;
    size_t bytes = 0;
  };

  uint8_t* map(size_t bytes);

  std::vector<Range> ranges_;  // mapped; neighbours are one
  Range left_;                 // of the last one mapped, to be taken
  size_t bytes_ = 0;
};

}  // namespace cw
