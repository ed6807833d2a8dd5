// Two hosts in namespaces, and what they send to each other through a pair that is between them.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/e2e/pair.h"
#include "tests/lab/sites.h"

namespace cw::bench {

/// One-way times in microseconds, sorted; lost ones are missing.
struct Latencies {
  std::vector<double> us;
  uint64_t sent = 0;
  double quantile(double q) const;
};

class Hosts {
 public:
  /// Throws where the lab cannot be made.
  Hosts();

  /// Whom frames are addressed to: testpmd passes them on as they are, and a gateway takes its own.
  /// The gateways, at first.
  void aim_at_each_other() const;
  void aim_at_gateways() const;
  /// The gateways' ends of the hosts' cables, as af_packet devices.
  Ends ends() const;
  /// Single datagrams from A to B: from the call of the kernel to the kernel's time of arrival.
  Latencies probe(std::chrono::microseconds interval, std::chrono::milliseconds time) const;
  /// A steady stream of datagrams of `bytes` each; returns how many bytes of UDP were sent.
  uint64_t stream(uint64_t bits_per_second, std::chrono::milliseconds time) const;

 private:
  lab::Sites sites_;
};

}  // namespace cw::bench
