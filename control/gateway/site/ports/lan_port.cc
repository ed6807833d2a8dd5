#include "control/gateway/site/ports/lan_port.h"

#include "control/gateway/site/ports/frame_driver.h"
#include "control/gateway/site/shard_plan.h"

namespace cw::site {
namespace {

Result<LanPort> make_tun(const Plan& plan, size_t shard) {
  auto made = TunPort::make(lan_of(plan, shard));
  if (!made) return std::unexpected(std::move(made.error()));
  const TunPort* const tun = made->get();
  return LanPort{.port = std::move(*made), .tun = tun};
}

Result<LanPort> make_over_frames(const Plan& plan, size_t shard, const LanPort* first) {
  const auto driver = frame_driver(name_of(plan.lan_kind), "tun");
  if (!driver) return std::unexpected(driver.error());
  const FrameLanOptions options = lan_over_frames_of(plan);
  auto made = first == nullptr ? FrameLanPort::make(**driver, options)
                               : FrameLanPort::make_beside(*first->frames, options,
                                                           static_cast<uint16_t>(shard));
  if (!made) return std::unexpected(std::move(made.error()));
  const FrameLanPort* const frames = made->get();
  return LanPort{.port = std::move(*made), .frames = frames};
}

}  // namespace

std::string LanPort::device() const {
  if (frames != nullptr) {
    return std::string(frames->facts().name) + ":" + frames->status().device.text;
  }
  return tun->status().name;
}

void LanPort::fill(SiteState& state) const {
  state.lan_port = port->counters();
  if (tun != nullptr) state.lan = tun->status();
  if (frames != nullptr) state.lan_over_frames = frames->status();
}

Result<LanPort> make_lan_port(const Plan& plan, size_t shard, const LanPort* first) {
  return is_over_frames(plan.lan_kind) ? make_over_frames(plan, shard, first)
                                       : make_tun(plan, shard);
}

}  // namespace cw::site
