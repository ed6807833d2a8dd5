// A bounded map from 64-bit cookies to small values, for the timers of a policy. Open addressing
// with linear probing; removal shifts back, so there are no tombstones and look-ups stay short.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "dataplane/base/assert.h"
#include "dataplane/base/memory/table.h"

namespace cw::sdr {

/// Holds up to `capacity` entries in twice as many places. Thread: one. Allocates when made only.
template <class Value>
class CookieMap {
 public:
  /// In `memory`, as a Table says; where it is zero nobody has a place.
  explicit CookieMap(size_t capacity, TableMemory* memory = nullptr)
      : capacity_(capacity), mask_(std::bit_ceil(2 * capacity) - 1), places_(mask_ + 1, memory) {
    CW_ASSERT(capacity > 0);
  }

  size_t count() const { return count_; }
  void clear() {
    if (count_ > 0) std::fill_n(places_.get(), mask_ + 1, Place{});
    count_ = 0;
  }

  /// Null when there is none. Valid until the next call that is not find().
  Value* find(uint64_t cookie) {
    Place& place = places_[place_of(cookie)];
    return place.is_used ? &place.value : nullptr;
  }
  /// Adds or overwrites; false when a new cookie finds the map full.
  bool try_set(uint64_t cookie, const Value& value) {
    Place& place = places_[place_of(cookie)];
    if (!place.is_used) {
      if (count_ == capacity_) return false;
      ++count_;
    }
    place = {cookie, value, true};
    return true;
  }
  void remove(uint64_t cookie) {
    size_t hole = place_of(cookie);
    if (!places_[hole].is_used) return;
    --count_;
    for (size_t i = (hole + 1) & mask_; places_[i].is_used; i = (i + 1) & mask_) {
      const size_t home = home_of(places_[i].cookie);
      // An entry may move back into the hole unless its home lies behind it.
      if (((i - home) & mask_) < ((i - hole) & mask_)) continue;
      places_[hole] = places_[i];
      hole = i;
    }
    places_[hole].is_used = false;
  }

 private:
  struct Place {
    uint64_t cookie = 0;
    Value value{};
    bool is_used = false;
  };

  size_t home_of(uint64_t cookie) const {
    return static_cast<size_t>((cookie * 0x9e3779b97f4a7c15) >> 20) & mask_;
  }
  size_t place_of(uint64_t cookie) const {
    size_t i = home_of(cookie);
    while (places_[i].is_used && places_[i].cookie != cookie) i = (i + 1) & mask_;
    return i;
  }

  size_t capacity_, mask_, count_ = 0;
  Table<Place> places_;
};

}  // namespace cw::sdr
