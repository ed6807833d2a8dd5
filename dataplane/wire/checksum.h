// The Internet checksum (RFC 1071): the one's complement of the one's complement sum of 16-bit
// words. Sums are kept folded to 16 bits, so they add up in any order. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace cw {

/// Adds two sums.
constexpr uint16_t add_sums(uint16_t a, uint16_t b) {
  const uint32_t sum = uint32_t{a} + b;
  return static_cast<uint16_t>(sum + (sum >> 16));
}
/// Takes `b` out of a sum that holds it.
constexpr uint16_t subtract_sum(uint16_t a, uint16_t b) {
  return add_sums(a, static_cast<uint16_t>(~b));
}

/// The sum of `bytes`, which begin at an even offset of what is summed; a last odd byte counts as
/// if a zero followed. Cost: hot, some 10 bytes per nanosecond.
uint16_t sum_of(std::span<const uint8_t> bytes);

/// The sum of the pseudo header of TCP and UDP. `addresses` are source and target as they lie in
/// the IP header; `bytes` is the length of everything behind it.
uint16_t pseudo_header_sum(std::span<const uint8_t> addresses, uint8_t protocol, size_t bytes);

}  // namespace cw
