// Counts the allocations of a stretch of code, whoever makes them, and what is allocated:
//
//     { HeapWatch watch; worker.turn(); }
//     EXPECT_EQ(HeapWatch::allocation_count(), 0u);
//
// A program that uses it has malloc and its family replaced (heap_watch.cc).
#pragma once

#include <cstdint>

namespace cw::sim {

class HeapWatch {
 public:
  /// Watches this thread while it lives. Watches nest.
  HeapWatch() { ++depth_; }
  ~HeapWatch() { --depth_; }
  HeapWatch(const HeapWatch&) = delete;
  HeapWatch& operator=(const HeapWatch&) = delete;

  /// Allocations of this thread under any watch since it started.
  static uint64_t allocation_count() { return count_; }
  /// Allocations of this thread less its deallocations, watched or not.
  static int64_t live_count() { return live_; }
  /// Their bytes, touched or not, as the allocator rounds them.
  static int64_t live_bytes() { return bytes_; }

  static void on_allocation(const volatile void* memory);
  static void on_deallocation(const volatile void* memory);

 private:
  static thread_local uint32_t depth_;
  static thread_local volatile uint64_t count_;
  static thread_local volatile int64_t live_, bytes_;
};

}  // namespace cw::sim
