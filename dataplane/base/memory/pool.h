// A fixed set of objects, made once and lent out. Running dry is normal and returns null: the
// limits decide how much there is, and backpressure follows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "dataplane/base/assert.h"
#include "dataplane/base/memory/table.h"

namespace cw {

/// Lends up to `capacity` objects of type T. Objects are constructed once, with the pool, and are
/// handed out as their last borrower left them. Thread: one.
template <class T>
class Pool {
 public:
  explicit Pool(size_t capacity) : Pool(capacity, nullptr, Table<T>(capacity)) {}
  /// The same in `memory`, where objects begin as a Table says.
  Pool(size_t capacity, TableMemory& memory)
      : Pool(capacity, &memory, Table<T>(capacity, &memory)) {}

  size_t capacity() const { return capacity_; }
  size_t free_count() const { return capacity_ - lent_count_; }
  size_t lent_count() const { return lent_count_; }

  /// Null when all are lent. The object is the caller's until give_back().
  T* try_take() {
    if (lent_count_ == capacity_) return nullptr;
    // The lowest index is lent first, so short runs stay in few cache lines.
    const size_t given_back = used_ - lent_count_++;
    const auto index = given_back > 0 ? free_[given_back - 1] : static_cast<uint32_t>(used_++);
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
    free_[used_ - lent_count_--] = static_cast<uint32_t>(index);
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
  Pool(size_t capacity, TableMemory* memory, Table<T> objects)
      : capacity_(capacity),
        objects_(std::move(objects)),
        free_(capacity, memory),
        lent_(capacity, memory) {
    CW_ASSERT(capacity > 0 && capacity <= UINT32_MAX);
  }

  size_t capacity_, lent_count_ = 0;
  size_t used_ = 0;  // were ever lent: those below
  Table<T> objects_;
  Table<uint32_t> free_;  // of these, those that are not; the last is the next
  Table<bool> lent_;
};

}  // namespace cw
