// A bounded priority queue: the storage is made once, and full is an answer.
#pragma once

#include <algorithm>
#include <cstddef>

#include "dataplane/base/assert.h"
#include "dataplane/base/memory/table.h"

namespace cw {

/// `ComesLater(a, b)` says that b is to be taken before a. Thread: one.
template <class T, class ComesLater>
class Heap {
 public:
  /// In `memory`, as a Table says.
  explicit Heap(size_t capacity, TableMemory* memory = nullptr)
      : capacity_(capacity), items_(capacity, memory) {}

  size_t count() const { return count_; }
  bool is_empty() const { return count_ == 0; }

  /// False when full; the item then stays the caller's. Cost: O(log n).
  bool try_push(const T& item) {
    if (count_ == capacity_) return false;
    items_[count_++] = item;
    std::push_heap(begin(), end(), ComesLater());
    return true;
  }
  /// The first to be taken; the heap must not be empty.
  const T& front() const {
    CW_DCHECK(!is_empty());
    return items_[0];
  }
  /// To be changed in nothing that would make it come after another.
  T& front() {
    CW_DCHECK(!is_empty());
    return items_[0];
  }
  /// Takes the first; the heap must not be empty. Cost: O(log n).
  T pop() {
    CW_ASSERT(!is_empty());
    std::pop_heap(begin(), end(), ComesLater());
    return items_[--count_];
  }

 private:
  T* begin() { return items_.get(); }
  T* end() { return items_.get() + count_; }

  size_t capacity_, count_ = 0;
  Table<T> items_;
};

}  // namespace cw
