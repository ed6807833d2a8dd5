// Memory of a policy: taken once, in create(), without throwing. A policy that could not get all of
// it says so through is_ready() and create() refuses; nothing here grows afterwards.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "dataplane/base/assert.h"

namespace cw::policy {

/// `count` zeroed items, or none when memory is short.
template <class T>
class Array {
 public:
  explicit Array(size_t count) : items_(new (std::nothrow) T[count]()), count_(count) {}

  bool is_ready() const { return items_ != nullptr; }
  size_t count() const { return count_; }
  T& operator[](size_t index) {
    CW_DCHECK(index < count_);
    return items_[index];
  }
  const T& operator[](size_t index) const {
    CW_DCHECK(index < count_);
    return items_[index];
  }

 private:
  std::unique_ptr<T[]> items_;
  size_t count_;
};

/// A bounded first-in-first-out queue.
template <class T>
class Queue {
 public:
  /// Holds `capacity` items or a few more (the next power of two).
  explicit Queue(size_t capacity) : items_(std::bit_ceil(capacity)) {}

  bool is_ready() const { return items_.is_ready(); }
  size_t count() const { return tail_ - head_; }
  size_t capacity() const { return items_.count(); }
  bool is_empty() const { return head_ == tail_; }
  bool is_full() const { return count() == capacity(); }

  T& front() { return items_[head_ & (capacity() - 1)]; }
  const T& front() const { return items_[head_ & (capacity() - 1)]; }
  T& back() { return items_[(tail_ - 1) & (capacity() - 1)]; }
  const T& back() const { return items_[(tail_ - 1) & (capacity() - 1)]; }
  /// The `index`-th oldest item, below count().
  T& at(size_t index) { return items_[(head_ + index) & (capacity() - 1)]; }
  const T& at(size_t index) const { return items_[(head_ + index) & (capacity() - 1)]; }
  /// False when full; the item then is not kept.
  bool try_push(const T& item) {
    if (is_full()) return false;
    items_[tail_++ & (capacity() - 1)] = item;
    return true;
  }
  /// The queue must not be empty.
  T pop() {
    CW_ASSERT(!is_empty());
    const T item = front();
    ++head_;
    // Begins anew in front, and so stays in few cache lines while it is short.
    if (is_empty()) head_ = tail_ = 0;
    return item;
  }

 private:
  Array<T> items_;
  size_t head_ = 0, tail_ = 0;
};

}  // namespace cw::policy
