// The text that names a device of DPDK's, with its arguments. What has no mistake can be completed,
// and is complete then.
#include <string>

#include "dataplane/base/assert.h"
#include "dataplane/device/device_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cw;
  const std::string device(reinterpret_cast<const char*>(data), size);
  const std::string mistake = mistake_in_device(device);
  if (is_pci_device(device)) {
    CW_ASSERT(device_driver(device).empty() && device_name(device).find(',') == std::string::npos);
  }
  if (!mistake.empty()) return 0;
  for (const uint32_t mtu : {576u, 1500u, 9000u}) {
    const std::string whole = complete_device(device, mtu, 4);
    CW_ASSERT(whole.starts_with(device) && complete_device(whole, mtu, 4) == whole);
    CW_ASSERT(device_name(whole) == device_name(device));
    CW_ASSERT(mistake_in_device(whole).empty());
  }
  return 0;
}
