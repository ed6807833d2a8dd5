#include "control/daemon/watch/device_watch.h"

#include <utility>

namespace cw::daemon {
namespace {

constexpr const char* down_meaning = "it has no link: nothing leaves and nothing arrives";
constexpr const char* down_advice =
    "look at `ip link`, the cable and the switch; nothing else is to be done here";

}  // namespace

void DeviceWatch::look(const FrameDeviceStatus& device) {
  name_ = device.name;
  const Fields about = {{"port", side_}, {"device", name_}};
  const auto with = [&](const Fields& more) {
    Fields fields = about;
    fields.update(more);
    return fields;
  };
  const bool was_up = std::exchange(is_up_, device.is_link_up);
  if (is_up_ && !was_up) log_.info("device_up", about);
  if (was_up && !is_up_) {
    log_.warning("device_down", with({{"meaning", down_meaning}, {"advice", down_advice}}));
  }
  const std::string before = std::exchange(trouble_, device.trouble);
  if (before == trouble_) return;
  if (trouble_.empty()) return log_.info("device_well", about);
  log_.warning("device_trouble", with({{"why", trouble_}}));
}

std::vector<std::string> DeviceWatch::alarms() const {
  if (!trouble_.empty()) return {trouble_};
  if (!is_up_) return {name_ + ": " + down_meaning + "; " + down_advice};
  return {};
}

}  // namespace cw::daemon
