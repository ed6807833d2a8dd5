// The port towards the hosts, whichever kind the plan names.
#pragma once

#include <memory>
#include <string>

#include "control/gateway/plan.h"
#include "control/gateway/site/site_state.h"
#include "dataplane/base/result.h"
#include "dataplane/port.h"

namespace cw::site {

struct LanPort {
  std::unique_ptr<Port> port;
  // What it is, too; one of the two.
  const TunPort* tun = nullptr;
  const FrameLanPort* frames = nullptr;

  /// As the kernel has chosen, or "dpdk:" and the device with what was chosen for the user.
  std::string device() const;
  void fill(SiteState& state) const;
};

/// Of a shard; `first` is that of shard 0, whose device others join. DPDK runs where it is needed.
/// Errors: those of the ports, or that this build lacks DPDK; they begin with the port's own
/// option.
Result<LanPort> make_lan_port(const Plan& plan, size_t shard, const LanPort* first);

}  // namespace cw::site
