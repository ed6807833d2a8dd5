// Adding up, one element after the other and always alike [C-75]: f32 as IEEE 754 says; bf16
// widened to f32, and rounded to the nearest, ties to even. Pointers need no alignment.
// Thread: any. Nothing allocates.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dataplane/wire/group/records.h"

namespace cw::group {

constexpr size_t bytes_of(ElementType element) {
  return element == ElementType::F32 ? 4 : element == ElementType::Bf16 ? 2 : 1;
}

inline float widen(uint16_t bf16) { return std::bit_cast<float>(uint32_t{bf16} << 16); }
inline uint16_t narrow(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  // Rounding must not make an infinity of what is no number.
  if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline void widen_all(const uint8_t* from, float* to, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    uint16_t each;
    std::memcpy(&each, from + 2 * i, sizeof(each));
    to[i] = widen(each);
  }
}
inline void narrow_all(const float* from, uint8_t* to, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const uint16_t each = narrow(from[i]);
    std::memcpy(to + 2 * i, &each, sizeof(each));
  }
}
inline void add_bf16(float* sums, const uint8_t* more, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    uint16_t each;
    std::memcpy(&each, more + 2 * i, sizeof(each));
    sums[i] += widen(each);
  }
}
inline void add_f32(uint8_t* sums, const uint8_t* more, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    float sum, each;
    std::memcpy(&sum, sums + 4 * i, sizeof(sum));
    std::memcpy(&each, more + 4 * i, sizeof(each));
    sum += each;
    std::memcpy(sums + 4 * i, &sum, sizeof(sum));
  }
}

}  // namespace cw::group
