// The Internet checksum (RFC 1071): the one's complement of the one's complement sum of 16-bit
// words. Sums are kept folded to 16 bits, so they add up in any order. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/base/endian.h"

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

/// Whether the checksum of an IPv4 header without options is right. The sum is a multiple of 0xffff
/// then, in whatever order of bytes, and never zero, since the version is not. Cost: hot.
inline bool is_ipv4_header_sound(const uint8_t* ip) {
  uint64_t sum = 0;
  for (size_t at = 0; at < 20; at += sizeof(uint32_t)) sum += read_at<uint32_t>(ip + at);
  return sum % 0xffff == 0;
}

/// The sum of the pseudo header of TCP and UDP. `addresses` are source and target as they lie in
/// the IP header; `bytes` is the length of everything behind it.
uint16_t pseudo_header_sum(std::span<const uint8_t> addresses, uint8_t protocol, size_t bytes);

}  // namespace cw
