// Rows of equal things, taken once: each by itself, or side by side in memory that many share, so
// that what nobody uses costs as little as that memory says (core/lazy_memory.h).
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

#include "dataplane/base/assert.h"

namespace cw {

/// Where tables lie. Thread: one.
class TableMemory {
 public:
  static constexpr size_t line_bytes = 64;

  virtual ~TableMemory() = default;
  /// All of it zero, beginning on a cache line, for as long as this lives. Stops the program when
  /// there is none, as `new` does.
  virtual void* take(size_t bytes) = 0;
};

/// `count` items, which stay where they are when the table moves. Thread: one.
template <class T>
class Table {
 public:
  /// Of its own, as T begins.
  explicit Table(size_t count) : own_(new T[count]()), items_(own_.get()) {}
  /// In `memory`, which lives longer, or of its own where there is none. Whoever has one in memory
  /// takes zeros for a valid T, or writes each item before he reads it.
  Table(size_t count, TableMemory* memory)
      : own_(memory == nullptr ? new T[count]() : nullptr), items_(own_.get()) {
    static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= TableMemory::line_bytes);
    if (memory != nullptr) items_ = static_cast<T*>(memory->take(count * sizeof(T)));
  }

  T& operator[](size_t index) { return items_[index]; }
  const T& operator[](size_t index) const { return items_[index]; }
  T* get() { return items_; }
  const T* get() const { return items_; }

 private:
  std::unique_ptr<T[]> own_;
  T* items_;
};

}  // namespace cw
