#include "control/gateway/site/ports/wan_port.h"

#include "control/gateway/dpdk.h"
#include "control/gateway/site/shard_plan.h"

namespace cw::site {
namespace {

Result<WanPort> make_udp(const Plan& plan, size_t shard) {
  auto made = UdpPort::make(wan_of(plan, shard));
  if (!made) return std::unexpected(std::move(made.error()));
  UdpPort* const udp = made->get();
  return WanPort{.port = std::move(*made), .udp = udp};
}

#ifdef CW_HAVE_DPDK
Result<WanPort> make_dpdk(const Plan& plan, size_t shard, const WanPort* first) {
  const DpdkWanOptions options = wan_over_dpdk_of(plan, shard);
  auto made = first == nullptr
                  ? DpdkWanPort::make(options)
                  : DpdkWanPort::make_beside(*first->dpdk, options, static_cast<uint16_t>(shard));
  if (!made) return std::unexpected(std::move(made.error()));
  const DpdkWanPort* const dpdk = made->get();
  return WanPort{.port = std::move(*made), .dpdk = dpdk};
}
#else
Result<WanPort> make_dpdk(const Plan&, size_t, const WanPort*) { return without_dpdk("udp"); }
#endif

}  // namespace

std::string WanPort::device(const Plan& plan) const {
#ifdef CW_HAVE_DPDK
  if (dpdk != nullptr) return "dpdk:" + dpdk->status().device.text;
#endif
  return "udp:" + std::to_string(plan.wan.udp_port);
}

void WanPort::fill(SiteState& state) const {
  state.wan_port = port->counters();
  state.wan_payload_max = port->facts().payload_max;
  if (udp != nullptr) state.wan = udp->status();
#ifdef CW_HAVE_DPDK
  if (dpdk != nullptr) state.wan_over_dpdk = dpdk->status();
#endif
}

Result<WanPort> make_wan_port(const Plan& plan, size_t shard, const WanPort* first) {
  return plan.wan_kind == WanKind::Dpdk ? make_dpdk(plan, shard, first) : make_udp(plan, shard);
}

}  // namespace cw::site
