// Where devices of the library have their secrets from.
#pragma once

#include <sys/random.h>

#include <cstdint>

#include "dataplane/base/assert.h"

namespace cw::sdk {

/// Nobody can guess them.
inline uint64_t fresh_bits_of_system() {
  uint64_t bits = 0;
  // Up to 256 bytes come whole once the pool is filled, which waiting ensures.
  CW_ASSERT(getrandom(&bits, sizeof(bits), 0) == sizeof(bits));
  return bits;
}

}  // namespace cw::sdk
