// Who drives the queues of a port over Ethernet frames.
#pragma once

#include <string>
#include <string_view>

#include "dataplane/base/result.h"
#include "dataplane/port/frame/frame_device.h"

namespace cw::site {

/// Of a kind of ports, "dpdk" or "xdp". Errors: this program was built without it; `otherwise` is
/// the kind of port to take instead.
Result<const FrameDriver*> frame_driver(std::string_view kind, const std::string& otherwise);

}  // namespace cw::site
