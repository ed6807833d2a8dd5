// What happens next: things, by their numbers, and the instants at which they are due; equal ones
// in the order of pushing. Nanoseconds have slots of their own, so that nothing is ever sorted.
//
//   near    |  this page  |  next page  |   a slot for each nanosecond of two pages of 4 us
//   pages   | | | | | | | | | | | | | | |   a row for each of 4,096 pages: 16 ms
//   far     a heap of all that is later
//
// When the clock comes to a new page, the rows of that and the next are dealt to their slots. So
// what is due is moved twice at most, wherever it began.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dataplane/base/units.h"

namespace cw {

/// Which of `count` places are taken; finds the next one that is without looking at those between.
template <size_t count>
class TakenPlaces {
 public:
  static constexpr size_t none = SIZE_MAX;

  void set(size_t place) {
    words_[place / 64] |= uint64_t{1} << place % 64;
    groups_[place / 4096] |= uint64_t{1} << place / 64 % 64;
  }
  void clear(size_t place) {
    const uint64_t word = words_[place / 64] &= ~(uint64_t{1} << place % 64);
    if (word == 0) groups_[place / 4096] &= ~(uint64_t{1} << place / 64 % 64);
  }
  /// The first at `place` or behind it, going round; or none. Cost: constant.
  size_t find_around(size_t place) const {
    const uint64_t rest = words_[place / 64] >> place % 64;
    if (rest != 0) return place + static_cast<size_t>(std::countr_zero(rest));
    const size_t word = place / 64;
    const size_t behind = find_word(word + 1);
    return first_in(behind != none ? behind : find_word(0));
  }

 private:
  static constexpr size_t group_count = count / 4096;
  static_assert(count % 4096 == 0 && group_count <= 8, "find_around() looks at each group");

  size_t find_word(size_t first) const {
    size_t group = first / 64;
    uint64_t mask = ~uint64_t{0} << first % 64;
    for (; group < group_count; ++group, mask = ~uint64_t{0}) {
      const uint64_t words = groups_[group] & mask;
      if (words != 0) return group * 64 + static_cast<size_t>(std::countr_zero(words));
    }
    return none;
  }
  size_t first_in(size_t word) const {
    return word == none ? none : word * 64 + static_cast<size_t>(std::countr_zero(words_[word]));
  }
  std::array<uint64_t, count / 64> words_{};
  std::array<uint64_t, group_count> groups_{};
};

/// Thread: one. Nothing allocates once it is made. Memory: 32 bytes for each number, and 133 KB.
class Calendar {
 public:
  struct Due {
    Instant at;
    uint32_t number = 0;
  };

  /// Of numbers below `count`, each of which is due once at a time. Time begins at 0.
  explicit Calendar(size_t count);

  /// What was pulled last was due then, or what advance_to() said.
  Instant now() const { return now_; }
  /// `at` is not past. Cost: constant, but logarithmic for what is far.
  void push(uint32_t number, Instant at);
  /// When the first is due; never: there is none. Cost: constant.
  Instant earliest() const;
  /// Takes what is due by `limit` and no later than `ahead` behind the first, in order; returns how
  /// many. Fewer than `out` has room for: that was all.
  size_t pull(Instant limit, Duration ahead, std::span<Due> out);
  /// Nothing is due before `t`. Cost: by what comes near.
  void advance_to(Instant t);

 private:
  static constexpr unsigned page_bits = 12;
  static constexpr int64_t slot_count = int64_t{2} << page_bits;
  static constexpr int64_t page_count = 4096;
  static constexpr uint32_t none = UINT32_MAX;

  struct Entry {
    Instant at;
    uint32_t next = none;
  };
  struct Row {
    uint32_t first = none, last = none;
    bool is_empty() const { return first == none; }
  };
  struct Page {
    Row row;
    Instant earliest = Instant::never();
  };
  struct Far {
    Instant at;
    uint32_t number;
    uint32_t order;                           // of pushing
    bool operator<(const Far& other) const {  // the heap has its greatest in front
      return at != other.at ? at > other.at : static_cast<int32_t>(order - other.order) > 0;
    }
  };
  static int64_t page_of(Instant t) { return t.ns() >> page_bits; }
  static size_t slot_of(Instant t) { return static_cast<size_t>(t.ns() & (slot_count - 1)); }
  static size_t place_of(int64_t page) { return static_cast<size_t>(page & (page_count - 1)); }
  void append(Row& row, uint32_t number);
  uint32_t take_first(Row& row);
  void push_far(uint32_t number, Instant at);
  void deal(int64_t page);
  void turn_page();

  Instant now_;
  std::vector<Entry> entries_;
  std::vector<Row> slots_;
  std::vector<Page> pages_;
  std::vector<Far> far_;
  uint32_t order_ = 0;
  TakenPlaces<static_cast<size_t>(slot_count)> taken_slots_;
  TakenPlaces<static_cast<size_t>(page_count)> taken_pages_;
};

}  // namespace cw
