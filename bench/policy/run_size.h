// How much the programs of this folder simulate, as their arguments say.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

namespace cw {

struct RunSize {
  uint64_t messages = 0;  ///< per cell or point
  uint64_t seed = 1;
};

/// Reads `[--messages N] [--seed N]`; false for anything else.
inline bool read_run_size(std::span<char* const> arguments, RunSize& size) {
  for (size_t i = 0; i < arguments.size(); i += 2) {
    if (i + 1 == arguments.size()) return false;
    const uint64_t value = std::strtoull(arguments[i + 1], nullptr, 10);
    if (std::strcmp(arguments[i], "--messages") == 0 && value > 0) {
      size.messages = value;
    } else if (std::strcmp(arguments[i], "--seed") == 0) {
      size.seed = value;
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace cw
