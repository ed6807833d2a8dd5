// Numbers that wrap: PSNs (24 bits), message sequences (32 bits). RFC 1982 arithmetic as a type, so
// that `<` on a raw integer, the classic bug of every transport, cannot be written.
//
// Two serials can be ordered only while they lie less than half the number space apart; a window
// over a Serial is therefore at most `window_max` wide, and users static_assert that. Exactly half
// apart, neither is before the other.
#pragma once

#include <cstdint>

namespace cw {

template <unsigned Bits>
class Serial {
 public:
  static_assert(Bits >= 2 && Bits <= 32);
  static constexpr uint64_t space = uint64_t{1} << Bits;
  static constexpr uint64_t window_max = space / 2;

  constexpr Serial() = default;
  /// Takes the low `Bits` bits.
  explicit constexpr Serial(uint64_t value) : value_(static_cast<uint32_t>(value & (space - 1))) {}

  constexpr uint32_t value() const { return value_; }
  constexpr bool operator==(const Serial&) const = default;

  constexpr Serial operator+(uint64_t n) const { return Serial(value_ + n); }
  constexpr Serial operator-(uint64_t n) const { return Serial(value_ - n); }
  constexpr Serial& operator++() { return *this = *this + 1; }

  /// Steps from this to `later`, in [-space/2, space/2): negative when `later` is really earlier.
  constexpr int64_t distance_to(Serial later) const {
    const uint64_t forward = (uint64_t{later.value_} - value_) & (space - 1);
    return forward < window_max ? static_cast<int64_t>(forward)
                                : static_cast<int64_t>(forward) - static_cast<int64_t>(space);
  }
  constexpr bool is_before(Serial other) const { return distance_to(other) > 0; }
  constexpr bool is_after(Serial other) const { return other.is_before(*this); }

  /// The 64-bit count with these low bits that lies nearest to `reference`, the lower one when two
  /// are equally near; never below zero. `reference` must lie space / 2 below 2^64.
  constexpr uint64_t unwrapped_near(uint64_t reference) const {
    const int64_t step = Serial(reference).distance_to(*this);
    if (step < 0 && reference < static_cast<uint64_t>(-step)) return value_;
    return reference + static_cast<uint64_t>(step);
  }

 private:
  uint32_t value_ = 0;
};

using Psn = Serial<24>;
using MessageSeq = Serial<32>;

}  // namespace cw
