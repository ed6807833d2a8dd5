// How long frames waited for others, in steps of half an octave: two such tables, from two moments,
// tell what lies between.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "dataplane/base/units.h"

namespace cw {

struct HoleTimes {
  static constexpr size_t steps = 32;
  /// The second step begins at 93 us, the last at 3 s.
  static constexpr int first_octave = 16;

  static size_t step_of(Duration time) {
    const auto ns = static_cast<uint64_t>(std::max<int64_t>(time.ns(), 1));
    const int octave = std::bit_width(ns) - 1;
    const bool is_upper = ns << (63 - octave) > 0xb504'f333'f9de'6484;  // 2^63.5
    const int step = 2 * (octave - first_octave) + (is_upper ? 1 : 0);
    return static_cast<size_t>(std::clamp(step, 0, static_cast<int>(steps) - 1));
  }
  /// What step i is below, and a time in it.
  static Duration below(size_t i) { return at(static_cast<double>(i) + 1); }
  static Duration middle(size_t i) { return at(static_cast<double>(i) + 0.5); }
  uint64_t sum() const;
  void add(const HoleTimes& other) {
    for (size_t i = 0; i < steps; ++i) counts[i] += other.counts[i];
  }
  /// Steps are taken for evenly filled, by logarithms; zero where nothing waited.
  Duration quantile(double share) const;
  /// What has come since `before`, of the same counts.
  HoleTimes since(const HoleTimes& before) const;

  std::array<uint32_t, steps> counts{};

 private:
  static Duration at(double step);
};

}  // namespace cw
