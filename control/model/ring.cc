#include "control/model/ring.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "dataplane/base/assert.h"
#include "dataplane/base/prng.h"

namespace cw::model {
namespace {

/// One collective by dice.
double throw_once(const Law& message, const Ring& ring, Prng& prng) {
  std::vector<double> now(ring.datacenters, 0), next(ring.datacenters);
  for (uint32_t round = 0; round < ring.rounds(); ++round) {
    for (uint32_t i = 0; i < ring.datacenters; ++i) {
      const double before = now[(i + ring.datacenters - 1) % ring.datacenters];
      const double q = std::max(prng.uniform(), 0x1p-53);
      next[i] = std::max(before, now[i]) + ring.compute_ms + message.quantile_ms(q);
    }
    std::swap(now, next);
  }
  return *std::ranges::max_element(now);
}

}  // namespace

RingTimes ring_times(const Law& message, const Ring& ring) {
  CW_ASSERT(ring.datacenters >= 2 && ring.samples > 0);
  Prng prng(ring.seed);
  std::vector<double> times(ring.samples);
  for (double& each : times) each = throw_once(message, ring, prng);
  std::ranges::sort(times);
  const auto at = [&](double q) {
    const auto rank = static_cast<size_t>(std::ceil(q * double(times.size())));
    return times[std::clamp<size_t>(rank, 1, times.size()) - 1];
  };
  return {.mean_ms = std::accumulate(times.begin(), times.end(), 0.0) / double(times.size()),
          .p50_ms = at(0.5),
          .p99_ms = at(0.99),
          .p999_ms = at(0.999),
          .bound_ms = ring.rounds() * (ring.compute_ms + message.mean_ms())};
}

}  // namespace cw::model
