// Who is due first, of things that live elsewhere. Each knows its own place, so a time that moves
// costs the way from there. A thing that turns out not to be due after all is given its new time
// when it comes to the front: what only moves away, as with every arrival, costs nothing until
// then.
#pragma once

#include <cstdint>
#include <utility>

#include "dataplane/base/assert.h"
#include "dataplane/base/units.h"
#include "policies/parts/array.h"

namespace cw::policy {

/// `T` has `Instant due` and `uint32_t heap_at`, which is zero while it is not in here.
template <class T>
class DueHeap {
 public:
  DueHeap(const cw_env& env, size_t capacity) : items_(env, capacity + 1) {}
  bool is_ready() const { return items_.is_ready(); }

  Instant due() const { return count_ == 0 ? Instant::never() : items_[1]->due; }
  /// The thing that is due first; there must be one.
  T& front() const { return *items_[1]; }

  /// Puts it where `due` says; never() takes it out. Cost: O(log n).
  void set(T& item, Instant due) {
    if (due == Instant::never()) return remove(item);
    const bool is_new = item.heap_at == 0;
    if (is_new) {
      CW_DCHECK(count_ + 1 < items_.count());
      put(item, ++count_);
    }
    const bool is_earlier = is_new || due < item.due;
    item.due = due;
    if (is_earlier) {
      rise(item);
    } else {
      sink(item);
    }
  }
  void remove(T& item) {
    if (item.heap_at == 0) return;
    const uint32_t hole = std::exchange(item.heap_at, 0);
    T& last = *items_[count_--];
    if (&last == &item) return;
    put(last, hole);
    rise(last);
    sink(last);
  }

 private:
  void put(T& item, uint32_t at) {
    items_[at] = &item;
    item.heap_at = at;
  }
  void rise(T& item) {
    uint32_t at = item.heap_at;
    for (; at > 1 && item.due < items_[at / 2]->due; at /= 2) put(*items_[at / 2], at);
    put(item, at);
  }
  void sink(T& item) {
    uint32_t at = item.heap_at;
    for (uint32_t child = 2 * at; child <= count_; child = 2 * at) {
      if (child < count_ && items_[child + 1]->due < items_[child]->due) ++child;
      if (items_[child]->due >= item.due) break;
      put(*items_[child], at);
      at = child;
    }
    put(item, at);
  }

  Array<T*> items_;  // the first is at 1
  uint32_t count_ = 0;
};

}  // namespace cw::policy
