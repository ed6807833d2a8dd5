// Times by the power of two that they lie below: cheap enough for each packet, and what a scraper
// makes quantiles of.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "dataplane/base/units.h"

namespace cw {

/// Only grows. Thread: one.
struct OctaveTimes {
  static constexpr size_t steps = 24;
  /// Step i holds what is shorter than 2^(first_octave + i) ns and no shorter than half of that:
  /// the first all below 1.024 us, the last all from 4.3 s on.
  static constexpr int first_octave = 10;

  /// Cost: some instructions, one store more for the sum.
  void add(Duration time) {
    const auto ns = static_cast<uint64_t>(std::max<int64_t>(time.ns(), 0));
    const int step = static_cast<int>(std::bit_width(ns)) - first_octave;
    ++counts[static_cast<size_t>(std::clamp(step, 0, static_cast<int>(steps) - 1))];
    sum_ns += ns;
  }
  void add(const OctaveTimes& other) {
    for (size_t i = 0; i < steps; ++i) counts[i] += other.counts[i];
    sum_ns += other.sum_ns;
  }
  /// What has come since; of what has begun anew, all.
  OctaveTimes since(const OctaveTimes& before) const {
    OctaveTimes result = *this;
    if (count() < before.count()) return result;
    for (size_t i = 0; i < steps; ++i) result.counts[i] -= before.counts[i];
    result.sum_ns -= before.sum_ns;
    return result;
  }
  uint64_t count() const {
    uint64_t all = 0;
    for (const uint64_t each : counts) all += each;
    return all;
  }
  /// What step i is below.
  static Duration below(size_t i) {
    return Duration::from_ns(int64_t{1} << (first_octave + static_cast<int>(i)));
  }

  /// Steps are taken for evenly filled; zero where there is nothing.
  Duration quantile(double share) const;

  std::array<uint64_t, steps> counts{};
  uint64_t sum_ns = 0;
};

inline Duration OctaveTimes::quantile(double share) const {
  const double wanted = share * static_cast<double>(count());
  double so_far = 0;
  for (size_t i = 0; i < steps; ++i) {
    const auto here = static_cast<double>(counts[i]);
    if (here > 0 && so_far + here >= wanted) {
      const double from = i == 0 ? 0 : static_cast<double>(below(i - 1).ns());
      const double within = std::clamp((wanted - so_far) / here, 0.0, 1.0);
      return Duration::from_ns(
          static_cast<int64_t>(from + within * (static_cast<double>(below(i).ns()) - from)));
    }
    so_far += here;
  }
  return {};
}

}  // namespace cw
