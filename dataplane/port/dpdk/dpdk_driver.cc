#include "dataplane/port/dpdk/dpdk_driver.h"

#include "dataplane/device/device_obstacle.h"
#include "dataplane/port/dpdk/eal/device.h"

namespace cw {
namespace {

class DpdkDriver final : public FrameDriver {
  Result<std::unique_ptr<FrameDevice>> make(const FrameDeviceOptions& options) const override {
    auto made = DpdkDevice::make(options);
    if (!made) return std::unexpected(std::move(made.error()));
    return std::unique_ptr<FrameDevice>(std::move(*made));
  }
  // net_af_xdp has no buffers that are longer than a page.
  uint32_t mtu_of(const std::string& device) const override { return shared_mtu(device); }
  const char* example() const override {
    return "\"0000:3b:00.0\" or \"net_af_packet0,iface=eth1\"";
  }
};

}  // namespace

const FrameDriver& dpdk_driver() {
  static const DpdkDriver driver;
  return driver;
}

}  // namespace cw
