// What the gateways add to the way of a packet: single datagrams from host to host, in turn through
// the gateways' programs and beside them, on an otherwise idle link.
#pragma once

#include <chrono>
#include <cstdint>

#include "tests/lab/one_way.h"

namespace cw::demo {

struct Probes {
  lab::Latencies through, beside;
  uint64_t sent = 0;  ///< each way

  /// Of `through` less that of `beside`.
  double added_us(double q) const { return through.quantile(q) - beside.quantile(q); }
};

/// From site A to site B for so long. The addresses beside must be routed.
Probes probe(const lab::Sites& sites, std::chrono::milliseconds time);

}  // namespace cw::demo
