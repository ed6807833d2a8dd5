// What the gateways add to the way of a packet: single datagrams from host to host, in turn through
// the gateways' programs and beside them, on an otherwise idle link.
//
// Both hosts share this machine's clock. A datagram bears the time at which it was handed to the
// kernel, and the receiving kernel's time of arrival is compared with it, so that nobody's waking
// up is measured but that of what lies between.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "tests/lab/sites.h"

namespace cw::demo {

struct Probes {
  /// In microseconds, sorted; lost ones are missing.
  std::vector<double> through, beside;
  uint64_t sent = 0;  ///< each way

  /// Of `through` less that of `beside`.
  double added_us(double quantile) const;
};

/// From site A to site B for so long. The addresses beside must be routed.
Probes probe(const lab::Sites& sites, std::chrono::milliseconds time);

}  // namespace cw::demo
