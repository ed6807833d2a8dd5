#include "control/gateway/site/ports/lan_port.h"

#include "control/gateway/dpdk.h"
#include "control/gateway/site/shard_plan.h"

namespace cw::site {
namespace {

Result<LanPort> make_tun(const Plan& plan, size_t shard) {
  auto made = TunPort::make(lan_of(plan, shard));
  if (!made) return std::unexpected(std::move(made.error()));
  const TunPort* const tun = made->get();
  return LanPort{.port = std::move(*made), .tun = tun};
}

#ifdef CW_HAVE_DPDK
Result<LanPort> make_dpdk(const Plan& plan, size_t shard, const LanPort* first) {
  const DpdkLanOptions options = lan_over_dpdk_of(plan);
  auto made = first == nullptr
                  ? DpdkLanPort::make(options)
                  : DpdkLanPort::make_beside(*first->dpdk, options, static_cast<uint16_t>(shard));
  if (!made) return std::unexpected(std::move(made.error()));
  const DpdkLanPort* const dpdk = made->get();
  return LanPort{.port = std::move(*made), .dpdk = dpdk};
}
#else
Result<LanPort> make_dpdk(const Plan&, size_t, const LanPort*) { return without_dpdk("tun"); }
#endif

}  // namespace

std::string LanPort::device() const {
#ifdef CW_HAVE_DPDK
  if (dpdk != nullptr) return "dpdk:" + dpdk->status().device.text;
#endif
  return tun->status().name;
}

void LanPort::fill(SiteState& state) const {
  state.lan_port = port->counters();
  if (tun != nullptr) state.lan = tun->status();
#ifdef CW_HAVE_DPDK
  if (dpdk != nullptr) state.lan_over_dpdk = dpdk->status();
#endif
}

Result<LanPort> make_lan_port(const Plan& plan, size_t shard, const LanPort* first) {
  return plan.lan_kind == LanKind::Dpdk ? make_dpdk(plan, shard, first) : make_tun(plan, shard);
}

}  // namespace cw::site
