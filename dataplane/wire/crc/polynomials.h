// CRC-32s as polynomials over GF(2), modulo that of SPEC.md 3.1, reflected: bit 31 is x^0. What
// combining CRCs and reading one backwards have in common. Pure functions; thread: any.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace cw::crc {

inline constexpr uint32_t polynomial = 0xedb88320;
inline constexpr uint32_t one = 0x80000000;

constexpr uint32_t times_x(uint32_t a) { return a >> 1 ^ (polynomial & -(a & 1)); }
constexpr uint32_t over_x(uint32_t a) {
  const uint32_t low = a >> 31;
  return (a ^ (polynomial & -low)) << 1 | low;
}
static_assert(over_x(times_x(polynomial)) == polynomial);

constexpr uint32_t product(uint32_t a, uint32_t b) {
  uint32_t sum = 0;
  for (; a != 0; a <<= 1) {
    sum ^= b & -(a >> 31);  // without a branch: the bits are random
    b = times_x(b);
  }
  return sum;
}

using Powers = std::array<uint32_t, 256>;

/// base^i for i = 0, 1, 2, ...
constexpr Powers powers_of(uint32_t base) {
  Powers powers{one};
  for (size_t i = 1; i < powers.size(); ++i) powers[i] = product(powers[i - 1], base);
  return powers;
}

/// x^(8 bytes): what so many zero bytes multiply a CRC by.
constexpr uint32_t over_zeros(unsigned bytes) {
  uint32_t power = one;
  for (unsigned bit = 0; bit < 8 * bytes; ++bit) power = times_x(power);
  return power;
}
/// x^-(8 bytes): what takes them back.
constexpr uint32_t back_over_zeros(unsigned bytes) {
  uint32_t power = one;
  for (unsigned bit = 0; bit < 8 * bytes; ++bit) power = over_x(power);
  return power;
}
static_assert(product(over_zeros(7), back_over_zeros(7)) == one);

}  // namespace cw::crc
