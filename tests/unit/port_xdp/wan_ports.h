// Ports of two ends of a WAN: over AF_XDP at v0, and over sockets.
#pragma once

#include <memory>

#include "dataplane/port/frame/frame_wan_port.h"
#include "dataplane/port/udp/udp_port.h"
#include "offload/crc32.h"

namespace cw::test {

inline FrameWanOptions wan_options(const char* own, const char* peer) {
  FrameWanOptions options;
  options.device = "v0";
  options.address = own;
  options.peers = {{.address = peer}};
  options.payload_bytes_max = 1024;
  options.descriptors = 256;
  options.packets = 512;
  options.crc32 = cw_crc32;
  return options;
}

inline Result<std::unique_ptr<UdpPort>> udp_port(const char* own, const char* peer) {
  UdpPortOptions options;
  options.address = own;
  options.peers = {{.address = peer}};
  options.payload_bytes_max = 1024;
  options.icrc = IcrcMode::Exact;
  options.crc32 = cw_crc32;
  return UdpPort::make(options);
}

}  // namespace cw::test
