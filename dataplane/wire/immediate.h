// The 32-bit immediate of a data packet (SPEC.md 7.3):
//
//   | message id | slot | user fragment |        most significant bit first
//
// and the application's own 32-bit immediate, which travels in fragments, one per slot: slot s
// carries fragment s mod fragment_count(), fragment 0 being the least significant bits [C-50].
#pragma once

#include <cstdint>

#include "dataplane/base/assert.h"
#include "dataplane/base/limits.h"

namespace cw {

class ImmediateSplit {
 public:
  struct Parts {
    uint32_t id = 0;
    uint32_t slot = 0;
    uint32_t user = 0;
    bool operator==(const Parts&) const = default;
  };

  /// Whether these widths fill 32 bits and fit the limits: ask before constructing from what a peer
  /// or a config says.
  static constexpr bool can_be(unsigned id_bits, unsigned slot_bits, unsigned user_bits) {
    return id_bits >= 1 && id_bits <= limits::message_id_bits_max && slot_bits >= 1 &&
           slot_bits <= limits::slot_bits_max && user_bits <= 32 &&
           id_bits + slot_bits + user_bits == 32;
  }
  constexpr ImmediateSplit(unsigned id_bits, unsigned slot_bits, unsigned user_bits)
      : id_bits_(id_bits), slot_bits_(slot_bits), user_bits_(user_bits) {
    CW_ASSERT(can_be(id_bits, slot_bits, user_bits));
  }

  constexpr unsigned id_bits() const { return id_bits_; }
  constexpr unsigned slot_bits() const { return slot_bits_; }
  constexpr unsigned user_bits() const { return user_bits_; }
  constexpr uint32_t ids() const { return 1u << id_bits_; }
  constexpr uint32_t slots() const { return 1u << slot_bits_; }

  /// Bits of a part above its width are cut off.
  constexpr uint32_t pack(const Parts& parts) const {
    return (parts.id & mask(id_bits_)) << (slot_bits_ + user_bits_) |
           (parts.slot & mask(slot_bits_)) << user_bits_ | (parts.user & mask(user_bits_));
  }
  constexpr Parts unpack(uint32_t immediate) const {
    return {immediate >> (slot_bits_ + user_bits_), immediate >> user_bits_ & mask(slot_bits_),
            immediate & mask(user_bits_)};
  }

  /// How many slots it takes to carry the user immediate; zero when fragments have no bits.
  constexpr unsigned fragment_count() const {
    return user_bits_ == 0 ? 0 : (32 + user_bits_ - 1) / user_bits_;
  }
  /// Which fragment a slot carries. There must be fragments.
  constexpr unsigned fragment_index(uint32_t slot) const { return slot % fragment_count(); }
  /// The bits of `user_immediate` that `slot` carries; zero when fragments have no bits.
  constexpr uint32_t fragment(uint32_t user_immediate, uint32_t slot) const {
    if (user_bits_ == 0) return 0;
    return user_immediate >> fragment_index(slot) * user_bits_ & mask(user_bits_);
  }
  /// Puts the fragment of `slot` into its place in `user_immediate`.
  constexpr uint32_t with_fragment(uint32_t user_immediate, uint32_t slot, uint32_t bits) const {
    if (user_bits_ == 0) return user_immediate;
    const unsigned shift = fragment_index(slot) * user_bits_;
    return (user_immediate & ~(mask(user_bits_) << shift)) | (bits & mask(user_bits_)) << shift;
  }

 private:
  static constexpr uint32_t mask(unsigned bits) {
    return static_cast<uint32_t>((uint64_t{1} << bits) - 1);
  }

  unsigned id_bits_, slot_bits_, user_bits_;
};

inline constexpr ImmediateSplit split_default{10, 18, 4};
inline constexpr ImmediateSplit split_long_messages{8, 22, 2};
inline constexpr ImmediateSplit split_multicast{8, 24, 0};

}  // namespace cw
