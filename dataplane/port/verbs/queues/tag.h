// How a work request is called, so that its completion finds its queue without a search.
#pragma once

#include <cstdint>

namespace cw::verbs {

/// 64 bits: epoch 16, queue 16, life 16, count 16. A completion of another life of a queue than the
/// present one is of no interest any more.
struct Tag {
  /// Not an epoch's queue but a control queue.
  static constexpr uint16_t control = 0xffff;
  /// Nor that, but the queue of groups.
  static constexpr uint16_t group = 0xfffe;

  uint16_t epoch = 0, queue = 0, life = 0;
  uint16_t count = 0;  ///< of a send: how many it stands for; of a control receive: its buffer

  static Tag of(uint64_t bits) {
    return {static_cast<uint16_t>(bits >> 48), static_cast<uint16_t>(bits >> 32),
            static_cast<uint16_t>(bits >> 16), static_cast<uint16_t>(bits)};
  }
  uint64_t bits() const {
    return uint64_t{epoch} << 48 | uint64_t{queue} << 32 | uint64_t{life} << 16 | count;
  }
  static bool are_of_one_life(uint64_t a, uint64_t b) { return (a ^ b) >> 16 == 0; }
};

}  // namespace cw::verbs
