// The port of an end that sends real packets, whichever it is: UDP sockets, NIC queues over DPDK,
// a kernel's interface by AF_XDP, or an RNIC.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "control/perf/options.h"
#include "dataplane/base/result.h"
#include "dataplane/port.h"
#include "dataplane/wan.h"

namespace cw::perf {

using NamedCounts = std::vector<std::pair<const char*, uint64_t>>;

/// What PortCounters do not say.
struct WireCounts {
  NamedCounts lost;  ///< packets
  NamedCounts work;  ///< what was asked of the device
};

struct Wire {
  // One of the two: of bytes, or of work requests.
  std::unique_ptr<Port> port;
  std::unique_ptr<WanPort> rnic;
  std::function<WireCounts()> counts;
  bool is_v6 = false;

  AnyWanPort any() const { return port ? AnyWanPort(*port) : AnyWanPort(*rnic); }
};

/// The other end, as the rendezvous knows it; over frames the options know better.
struct OtherEnd {
  std::string address;
  uint16_t udp_port = 0;
  bool is_v6 = false;
};

/// Errors: those of the port; over DPDK also of starting it, or that this build lacks it.
Result<Wire> make_wire(const Options& options, uint16_t own_udp_port, const OtherEnd& other);

}  // namespace cw::perf
