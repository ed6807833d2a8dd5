// Interfaces of the kernel's by AF_XDP, for ports of frames.
#pragma once

#include "dataplane/port/frame/frame_device.h"

namespace cw {

const FrameDriver& xdp_driver();

}  // namespace cw
