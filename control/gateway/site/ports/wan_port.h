// The port towards the other sites, whichever kind the plan names.
#pragma once

#include <memory>
#include <string>

#include "control/gateway/plan.h"
#include "control/gateway/site/site_state.h"
#include "dataplane/base/result.h"
#include "dataplane/port.h"
#include "dataplane/wan.h"

namespace cw {
class VerbsPort;
}

namespace cw::site {

struct WanPort {
  // One of the two: of bytes, or of work requests.
  std::unique_ptr<Port> port;
  std::unique_ptr<cw::WanPort> rnic;
  // What it is, too; one of the three.
  UdpPort* udp = nullptr;
  const FrameWanPort* frames = nullptr;
  const VerbsPort* verbs = nullptr;

  AnyWanPort any() const { return port ? AnyWanPort(*port) : AnyWanPort(*rnic); }
  const PortFacts& facts() const { return any().facts(); }
  /// "udp:" and its port, "dpdk:" or "xdp:" and the device with what was chosen for the user, or
  /// "verbs:".
  std::string device(const Plan& plan) const;
  void fill(SiteState& state) const;
};

/// Of a shard; `first` is that of shard 0, whose device others join. DPDK runs where it is needed.
/// Errors: those of the ports, or that this build lacks DPDK; they begin with the port's own
/// option.
Result<WanPort> make_wan_port(const Plan& plan, size_t shard, const WanPort* first);

}  // namespace cw::site
