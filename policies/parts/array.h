// Memory of a policy: taken once, in create(), without throwing. A policy that could not get all of
// it says so through is_ready() and create() refuses; nothing here grows afterwards. Whoever has
// the instance's `env` takes it of the core, which gives what costs nothing until it is written.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>

#include "dataplane/base/assert.h"
#include "dataplane/policy.h"

namespace cw::policy {

/// Cores before 2.1 do not.
inline bool gives_memory(const cw_env& env) {
  return env.size >= offsetof(cw_env, abi) && env.take != nullptr;
}

/// `count` zeroed items, or none when memory is short.
template <class T>
class Array {
 public:
  explicit Array(size_t count)
      : own_(new (std::nothrow) T[count]()), items_(own_.get()), count_(count) {}
  Array(const cw_env& env, size_t count)
      : own_(gives_memory(env) ? nullptr : new (std::nothrow) T[count]()),
        items_(own_.get()),
        count_(count) {
    static_assert(std::is_trivially_destructible_v<T>);
    // T may be a pointer.
    constexpr size_t each = sizeof(T);  // NOLINT(bugprone-sizeof-expression)
    if (gives_memory(env)) items_ = static_cast<T*>(env.take(env.memory, count * each));
  }

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
  std::unique_ptr<T[]> own_;
  T* items_;
  size_t count_;
};

/// A bounded first-in-first-out queue.
template <class T>
class Queue {
 public:
  /// Holds `capacity` items or a few more (the next power of two).
  explicit Queue(size_t capacity) : items_(std::bit_ceil(capacity)) {}
  Queue(const cw_env& env, size_t capacity) : items_(env, std::bit_ceil(capacity)) {}

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
