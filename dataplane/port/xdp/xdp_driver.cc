#include "dataplane/port/xdp/xdp_driver.h"

#include "dataplane/kernel/kernel_interface.h"
#include "dataplane/port/xdp/xdp_device.h"

namespace cw {
namespace {

class XdpDriver final : public FrameDriver {
  Result<std::unique_ptr<FrameDevice>> make(const FrameDeviceOptions& options) const override {
    return XdpDevice::make(options);
  }
  uint32_t mtu_of(const std::string& device) const override {
    const uint32_t mtu = kernel_mtu(device);
    return mtu == 0 ? UINT32_MAX : mtu;
  }
  const char* example() const override { return "\"eth0\""; }
};

}  // namespace

const FrameDriver& xdp_driver() {
  static const XdpDriver driver;
  return driver;
}

}  // namespace cw
