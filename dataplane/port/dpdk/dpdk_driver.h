// Devices of DPDK, for ports of frames.
#pragma once

#include "dataplane/port/frame/frame_device.h"

namespace cw {

/// start_eal() comes before the first device.
const FrameDriver& dpdk_driver();

}  // namespace cw
