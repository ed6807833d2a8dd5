// A fixed set of objects, made once and lent out. Running dry is normal and returns null: the
// limits decide how much there is, and backpressure follows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "dataplane/base/assert.h"

namespace cw {

/// Lends up to `capacity` objects of type T. Objects are constructed once, with the pool, and are
/// handed out as their last borrower left them. Thread: one.
template <class T>
class Pool {
 public:
  explicit Pool(size_t capacity)
      : capacity_(capacity),
        objects_(new T[capacity]()),
        free_(new uint32_t[capacity]),
        lent_(new bool[capacity]()) {
    CW_ASSERT(capacity > 0 && capacity <= UINT32_MAX);
    // The lowest index is lent first, so short runs stay in few cache lines.
    for (size_t i = 0; i < capacity; ++i) free_[i] = static_cast<uint32_t>(capacity - 1 - i);
    free_count_ = capacity;
  }

  size_t capacity() const { return capacity_; }
  size_t free_count() const { return free_count_; }
  size_t lent_count() const { return capacity_ - free_count_; }

  /// Null when all are lent. The object is the caller's until give_back().
  T* try_take() {
    if (free_count_ == 0) return nullptr;
    const uint32_t index = free_[--free_count_];
    lent_[index] = true;
    return &objects_[index];
  }
  /// Takes back an object of this pool; giving back twice is a bug and stops the program.
  void give_back(T* object) { give_back_at(index_of(object)); }
  /// The same by its place.
  void give_back_at(size_t index) {
    CW_ASSERT(index < capacity_);
    CW_ASSERT(lent_[index]);
    lent_[index] = false;
    free_[free_count_++] = static_cast<uint32_t>(index);
  }
  /// The object's place in the pool, below capacity(); stable for the pool's life.
  size_t index_of(const T* object) const {
    const auto index = static_cast<size_t>(object - objects_.get());
    CW_ASSERT(index < capacity_);
    return index;
  }
  T& at(size_t index) {
    CW_DCHECK(index < capacity_);
    return objects_[index];
  }
  bool is_lent(size_t index) const { return index < capacity_ && lent_[index]; }

 private:
  size_t capacity_, free_count_ = 0;
  std::unique_ptr<T[]> objects_;
  std::unique_ptr<uint32_t[]> free_;
  std::unique_ptr<bool[]> lent_;
};

}  // namespace cw
