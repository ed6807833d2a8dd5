// How many bits are set. Without an instruction of its own, which not every processor has,
// std::popcount is a call.
#pragma once

#include <cstdint>

namespace cw {

inline uint32_t ones(uint64_t word) {
  word -= word >> 1 & 0x5555555555555555;
  word = (word & 0x3333333333333333) + (word >> 2 & 0x3333333333333333);
  word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0f;
  return static_cast<uint32_t>(word * 0x0101010101010101 >> 56);
}

}  // namespace cw
