#include "control/gateway/site/ports/wan_port.h"

#include "control/gateway/dpdk.h"
#include "control/gateway/site/shard_plan.h"
#ifdef CW_HAVE_VERBS
#include "dataplane/port/verbs/verbs_port.h"
#endif

namespace cw::site {
namespace {

Result<WanPort> make_udp(const Plan& plan, size_t shard) {
  auto made = UdpPort::make(wan_of(plan, shard));
  if (!made) return std::unexpected(std::move(made.error()));
  UdpPort* const udp = made->get();
  return WanPort{.port = std::move(*made), .rnic = nullptr, .udp = udp};
}

#ifdef CW_HAVE_DPDK
Result<WanPort> make_dpdk(const Plan& plan, size_t shard, const WanPort* first) {
  const DpdkWanOptions options = wan_over_dpdk_of(plan, shard);
  auto made = first == nullptr
                  ? DpdkWanPort::make(options)
                  : DpdkWanPort::make_beside(*first->dpdk, options, static_cast<uint16_t>(shard));
  if (!made) return std::unexpected(std::move(made.error()));
  const DpdkWanPort* const dpdk = made->get();
  return WanPort{.port = std::move(*made), .rnic = nullptr, .dpdk = dpdk};
}
#else
Result<WanPort> make_dpdk(const Plan&, size_t, const WanPort*) { return without_dpdk("udp"); }
#endif

#ifdef CW_HAVE_VERBS
Result<WanPort> make_verbs(const Plan& plan, size_t shard) {
  auto made = VerbsPort::make(wan_by_rnic_of(plan, shard));
  if (!made) return std::unexpected(std::move(made.error()));
  const VerbsPort* const verbs = made->get();
  return WanPort{.port = nullptr, .rnic = std::move(*made), .verbs = verbs};
}
#else
Result<WanPort> make_verbs(const Plan&, size_t) {
  return failure(
      "port: \"verbs\" is not in this program, which was built without libibverbs; build it where "
      "libibverbs-dev and librdmacm-dev are installed, or take \"udp\"");
}
#endif

}  // namespace

std::string WanPort::device(const Plan& plan) const {
#ifdef CW_HAVE_DPDK
  if (dpdk != nullptr) return "dpdk:" + dpdk->status().device.text;
#endif
#ifdef CW_HAVE_VERBS
  if (verbs != nullptr) return "verbs:" + plan.wan_by_rnic.device;
#endif
  return "udp:" + std::to_string(plan.wan.udp_port);
}

void WanPort::fill(SiteState& state) const {
  state.wan_port = any().base().counters();
  state.wan_payload_max = facts().payload_max;
  if (udp != nullptr) state.wan = udp->status();
#ifdef CW_HAVE_DPDK
  if (dpdk != nullptr) state.wan_over_dpdk = dpdk->status();
#endif
#ifdef CW_HAVE_VERBS
  if (verbs != nullptr) state.wan_by_rnic = verbs->status();
#endif
}

Result<WanPort> make_wan_port(const Plan& plan, size_t shard, const WanPort* first) {
  if (plan.wan_kind == WanKind::Verbs) return make_verbs(plan, shard);
  return plan.wan_kind == WanKind::Dpdk ? make_dpdk(plan, shard, first) : make_udp(plan, shard);
}

}  // namespace cw::site
