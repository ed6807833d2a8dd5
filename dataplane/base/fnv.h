// Tells byte strings apart where nobody makes two alike on purpose.
#pragma once

#include <cstdint>
#include <string_view>

namespace cw {

/// FNV-1a, in 64 bits: the same at both ends of a link and in later lives.
constexpr uint64_t fnv_1a(std::string_view bytes) {
  uint64_t hash = 0xcbf2'9ce4'8422'2325;
  for (const char each : bytes) hash = (hash ^ static_cast<uint8_t>(each)) * 0x100'0000'01b3;
  return hash;
}

}  // namespace cw
