// A collective around a ring of datacenters: every round waits for the one before, here and at the
// neighbour, so what reliability costs is paid in each of them.
//
//   T(i, r) = max(T(i - 1, r - 1), T(i, r - 1)) + C + X        r = 1 .. 2 N - 2, as of Allreduce
//
// X is the time of one message, drawn from its law; C what a datacenter computes in a round. No
// round can do better than its mean: E[T] >= (2 N - 2) (C + E[X]).
#pragma once

#include <cstdint>

#include "control/model/law/law.h"

namespace cw::model {

struct Ring {
  uint32_t datacenters = 4;  ///< N, 2 at least
  double compute_ms = 0;     ///< C
  uint64_t samples = 20'000;
  uint64_t seed = 1;

  uint32_t rounds() const { return 2 * datacenters - 2; }
};

struct RingTimes {
  double mean_ms = 0, p50_ms = 0, p99_ms = 0, p999_ms = 0;  ///< by dice
  double bound_ms = 0;                                      ///< the mean is no less
};

/// Until the last of them has had its last round. Cost: a tenth of a microsecond per datacenter,
/// round and sample.
RingTimes ring_times(const Law& message, const Ring& ring);

}  // namespace cw::model
