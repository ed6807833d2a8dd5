// Bounded first-in-first-out queues. `Ring` belongs to one thread. `SpscRing` joins exactly two:
// one pushes, one pops, neither ever waits. Both allocate when they are made and never again.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "dataplane/base/assert.h"
#include "dataplane/base/memory/table.h"

namespace cw {

/// A bounded queue of one thread; also readable by position from its front.
template <class T>
class Ring {
 public:
  /// Holds up to `capacity` items (at least 1).
  explicit Ring(size_t capacity)
      : mask_(std::bit_ceil(capacity) - 1), capacity_(capacity), slots_(mask_ + 1) {
    CW_ASSERT(capacity > 0);
  }
  /// The same in `memory`, as a Table says; an empty one needs nothing of what lies there.
  Ring(size_t capacity, TableMemory* memory)
      : mask_(std::bit_ceil(capacity) - 1), capacity_(capacity), slots_(mask_ + 1, memory) {
    CW_ASSERT(capacity > 0);
  }

  size_t count() const { return tail_ - head_; }
  size_t capacity() const { return capacity_; }
  bool is_empty() const { return head_ == tail_; }
  bool is_full() const { return count() == capacity_; }

  /// False when full; the item then stays the caller's.
  bool try_push(T item) {
    if (is_full()) return false;
    slots_[tail_++ & mask_] = std::move(item);
    return true;
  }
  /// A new youngest item for the caller to write where it lies, with what a former one has left in
  /// it; the ring must not be full. Valid until its pop.
  T& grow() {
    CW_ASSERT(!is_full());
    return slots_[tail_++ & mask_];
  }
  /// The oldest item; the ring must not be empty. Valid until the next pop.
  T& front() { return at(0); }
  const T& front() const { return at(0); }
  /// The `index`-th oldest item, below count().
  T& at(size_t index) {
    CW_DCHECK(index < count());
    return slots_[(head_ + index) & mask_];
  }
  const T& at(size_t index) const {
    CW_DCHECK(index < count());
    return slots_[(head_ + index) & mask_];
  }
  /// Takes the oldest item; the ring must not be empty.
  T pop() {
    CW_ASSERT(!is_empty());
    T& item = front();
    drop_front();
    return std::move(item);
  }
  /// Forgets the oldest item; the ring must not be empty.
  void drop_front() {
    CW_ASSERT(!is_empty());
    ++head_;
    // Begins anew in front: a row that is short stays in few cache lines, however long it may get.
    if (is_empty()) clear();
  }
  /// Forgets all items. They are overwritten by later pushes, not destroyed now.
  void clear() { head_ = tail_ = 0; }

 private:
  size_t head_ = 0, tail_ = 0;
  size_t mask_, capacity_;
  Table<T> slots_;
};

/// A bounded queue from one thread to one other.
///
/// Thread: push_burst() on the producer only, pop_burst() on the consumer only. What the producer
///         wrote before a push is visible to the consumer after the pop that returns the item.
template <class T>
class SpscRing {
 public:
  /// Holds up to `capacity` items, rounded up to a power of two.
  explicit SpscRing(size_t capacity)
      : mask_(std::bit_ceil(capacity) - 1), slots_(new T[mask_ + 1]()) {
    CW_ASSERT(capacity > 0);
  }

  size_t capacity() const { return mask_ + 1; }
  /// How many items wait: at most this many when the producer asks, at least this many when the
  /// consumer does, a stale snapshot for any other thread. Never above capacity().
  size_t count() const {
    // Head first: the tail read after it cannot be behind it, so the difference cannot wrap.
    const size_t head = head_.load(std::memory_order_acquire);
    const size_t waiting = tail_.load(std::memory_order_acquire) - head;
    return waiting < capacity() ? waiting : capacity();
  }

  /// Returns how many of `items`, from the first on, were taken; the rest stay the caller's.
  size_t push_burst(std::span<const T> items) {
    const size_t tail = tail_.load(std::memory_order_relaxed);
    if (capacity() - (tail - head_seen_) < items.size()) {
      head_seen_ = head_.load(std::memory_order_acquire);
    }
    const size_t room = capacity() - (tail - head_seen_);
    const size_t taken = items.size() < room ? items.size() : room;
    for (size_t i = 0; i < taken; ++i) slots_[(tail + i) & mask_] = items[i];
    tail_.store(tail + taken, std::memory_order_release);
    return taken;
  }
  bool try_push(const T& item) { return push_burst({&item, 1}) == 1; }

  /// Fills `out` from the front; returns how many items it wrote.
  size_t pop_burst(std::span<T> out) {
    const size_t head = head_.load(std::memory_order_relaxed);
    if (tail_seen_ - head < out.size()) tail_seen_ = tail_.load(std::memory_order_acquire);
    const size_t waiting = tail_seen_ - head;
    const size_t taken = out.size() < waiting ? out.size() : waiting;
    for (size_t i = 0; i < taken; ++i) out[i] = std::move(slots_[(head + i) & mask_]);
    head_.store(head + taken, std::memory_order_release);
    return taken;
  }
  bool try_pop(T& out) { return pop_burst({&out, 1}) == 1; }

 private:
  // Each side's index shares a cache line only with that side's stale copy of the other's.
  static constexpr size_t line_bytes = 64;
  const size_t mask_;
  const std::unique_ptr<T[]> slots_;
  alignas(line_bytes) std::atomic<size_t> tail_{0};
  size_t head_seen_ = 0;
  alignas(line_bytes) std::atomic<size_t> head_{0};
  size_t tail_seen_ = 0;
};

}  // namespace cw
