#include "control/gateway/site/ports/wan_port.h"

#include "control/gateway/site/ports/frame_driver.h"
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

Result<WanPort> make_over_frames(const Plan& plan, size_t shard, const WanPort* first) {
  const auto driver = frame_driver(name_of(plan.wan_kind), "udp");
  if (!driver) return std::unexpected(driver.error());
  const FrameWanOptions options = wan_over_frames_of(plan, shard);
  auto made = first == nullptr ? FrameWanPort::make(**driver, options)
                               : FrameWanPort::make_beside(*first->frames, options,
                                                           static_cast<uint16_t>(shard));
  if (!made) return std::unexpected(std::move(made.error()));
  const FrameWanPort* const frames = made->get();
  return WanPort{.port = std::move(*made), .rnic = nullptr, .frames = frames};
}

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
  if (frames != nullptr) {
    return std::string(frames->facts().name) + ":" + frames->status().device.text;
  }
#ifdef CW_HAVE_VERBS
  if (verbs != nullptr) return "verbs:" + plan.wan_by_rnic.device;
#endif
  return "udp:" + std::to_string(plan.wan.udp_port);
}

void WanPort::fill(SiteState& state) const {
  state.wan_port = any().base().counters();
  state.wan_payload_max = facts().payload_max;
  if (udp != nullptr) state.wan = udp->status();
  if (frames != nullptr) state.wan_over_frames = frames->status();
#ifdef CW_HAVE_VERBS
  if (verbs != nullptr) state.wan_by_rnic = verbs->status();
#endif
}

Result<WanPort> make_wan_port(const Plan& plan, size_t shard, const WanPort* first) {
  if (plan.wan_kind == WanKind::Verbs) return make_verbs(plan, shard);
  return is_over_frames(plan.wan_kind) ? make_over_frames(plan, shard, first)
                                       : make_udp(plan, shard);
}

}  // namespace cw::site
