// What the log says of an Ethernet device that a port goes by: a line when something has changed.
#pragma once

#include <string>
#include <vector>

#include "control/daemon/log.h"
#include "dataplane/port/frame/frame_device.h"

namespace cw::daemon {

class DeviceWatch {
 public:
  /// `side`: "wan" or "lan", as the log calls it. `log` outlives it.
  DeviceWatch(const char* side, const Log& log) : side_(side), log_(log) {}

  void look(const FrameDeviceStatus& device);
  /// As Watcher::alarms().
  std::vector<std::string> alarms() const;

 private:
  const char* side_;
  const Log& log_;
  bool is_up_ = true;
  std::string name_, trouble_;
};

}  // namespace cw::daemon
