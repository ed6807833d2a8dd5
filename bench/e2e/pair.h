// Two processes that forward from a LAN device over a memif to another LAN device: testpmd's, or
// two gateways. Each is bound to a core of its own; what else runs on the machine comes after them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/e2e/gateway_file.h"
#include "tests/lab/program.h"
#include "tests/lab/space.h"

namespace cw::bench {

/// What the pair is between.
struct Ends {
  int space_a = -1, space_b = -1;  ///< network namespaces
  std::string lan_a, lan_b;        ///< DPDK devices
  /// Of gateway B, when not empty: one that it hears a host on, whom it could not send to else.
  std::string lan_b_heard;
  unsigned wan_mtu = 1500;
};

class Pair {
 public:
  virtual ~Pair() = default;
  /// Frames per second that come out at B from now on: the median of so many seconds.
  double frames_per_second(unsigned seconds);
  /// Both processes together, since their start.
  double processor_seconds() const;
  /// Throws what a process said when it has ended.
  void check();

 protected:
  /// Of the seconds that have ended since the last call.
  virtual std::vector<double> take_rates() = 0;

  std::optional<lab::Program> a_, b_;
};

/// Throws when testpmd is not there, or a process does not start.
std::unique_ptr<Pair> start_testpmd(const Ends& ends);
/// `program` is causewayd; returns when the link is up.
std::unique_ptr<Pair> start_gateways(const Ends& ends, const GatewaySetup& setup,
                                     const std::string& program);

}  // namespace cw::bench
