#include "dataplane/core/times/hole_times.h"

#include <cmath>
#include <numeric>

namespace cw {

Duration HoleTimes::at(double step) {
  return Duration::from_ns(static_cast<int64_t>(std::exp2(first_octave + step / 2)));
}

uint64_t HoleTimes::sum() const {
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

Duration HoleTimes::quantile(double share) const {
  const double wanted = share * static_cast<double>(sum());
  double below = 0;
  for (size_t i = 0; i < steps; ++i) {
    if (counts[i] == 0) continue;
    const double here = counts[i];
    if (below + here >= wanted) {
      const double within = std::clamp((wanted - below) / here, 0.0, 1.0);
      return at(static_cast<double>(i) + within);
    }
    below += here;
  }
  return {};
}

HoleTimes HoleTimes::since(const HoleTimes& before) const {
  HoleTimes result;
  for (size_t i = 0; i < steps; ++i) result.counts[i] = counts[i] - before.counts[i];
  return result;
}

}  // namespace cw
