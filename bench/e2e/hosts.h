// Two hosts in namespaces, and what they send to each other through a pair that is between them.
#pragma once

#include <cstdint>

#include "bench/e2e/pair.h"
#include "tests/lab/one_way.h"

namespace cw::bench {

struct Probed {
  lab::Latencies latencies;
  uint64_t sent = 0;
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
  Probed probe(std::chrono::microseconds interval, std::chrono::milliseconds time) const;
  /// A steady stream of datagrams of `bytes` each; returns how many bytes of UDP were sent.
  uint64_t stream(uint64_t bits_per_second, std::chrono::milliseconds time) const;

 private:
  lab::Sites sites_;
};

}  // namespace cw::bench
