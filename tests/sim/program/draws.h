// What worlds are drawn with. A seed is a world for as long as each of these takes as much of its
// generator as it does now.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "dataplane/base/prng.h"
#include "dataplane/base/units.h"

namespace cw::sim {

template <class Value, size_t Count>
Value pick(Prng& prng, const std::array<Value, Count>& values) {
  return values[prng.below(Count)];
}

/// Both included.
inline Duration between(Prng& prng, Duration low, Duration high) {
  return Duration::from_ns(static_cast<int64_t>(
      prng.between(static_cast<uint64_t>(low.ns()), static_cast<uint64_t>(high.ns()))));
}

}  // namespace cw::sim
