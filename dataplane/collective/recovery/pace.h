// What of the group's rate is used: less where one member cannot follow, which is seen by what it
// has to fetch and others have not. Rank 0 decides, and ALL_DONE and GO tell it.
#pragma once

#include <algorithm>
#include <cstdint>

namespace cw::group {

/// In thousandths. Thread: one.
class Pace {
 public:
  static constexpr uint16_t whole = 1000, least = whole / 8;

  /// How much of its slots the member that fetched most has fetched, and all on the average, in
  /// thousandths; and how many those of the one are.
  struct Fetched {
    uint32_t most = 0, mean = 0;
    uint64_t slots = 0;
  };

  uint16_t value() const { return value_; }
  void set(uint16_t value) { value_ = std::clamp(value, least, whole); }
  /// Of an operation that is over.
  void note(const Fetched& fetched) {
    if (is_slow(fetched)) {
      clean_ = 0;
      return set(static_cast<uint16_t>(value_ * 4 / 5));
    }
    if (++clean_ < clean_wanted) return;
    clean_ = 0;
    set(static_cast<uint16_t>(std::min<uint32_t>(value_ + value_ / 20 + 1, whole)));
  }

 private:
  static constexpr uint32_t clean_wanted = 8;

  /// Where all fetch alike it is the network that loses, and to send less is of no use.
  static bool is_slow(const Fetched& fetched) {
    constexpr uint32_t most_allowed = 50, slots_told = 16;
    return fetched.most > most_allowed && fetched.slots >= slots_told &&
           2 * fetched.most > 3 * fetched.mean;
  }

  uint16_t value_ = whole;
  uint32_t clean_ = 0;
};

}  // namespace cw::group
