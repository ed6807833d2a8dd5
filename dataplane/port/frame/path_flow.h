// Which frames are wanted, for devices that leave the others to the kernel.
#pragma once

#include <cstdint>

#include "dataplane/wire/outer/frame.h"

namespace cw {

/// What one path of a link brings, which is to come by the queue of its shard.
struct PathFlow {
  IpVersion ip_version = IpVersion::V4;
  IpAddress source{}, target{};
  uint16_t source_udp_port = 0;  ///< 0: any that no other flow has
  uint16_t target_udp_port = 0;
  uint16_t shard = 0;  ///< by whose queue it is to come
};

/// Where IP packets of hosts are going.
struct FrameTarget {
  IpVersion ip_version = IpVersion::V4;
  IpAddress ip{};
  uint8_t bits = 0;  ///< of it, from the front

  bool operator==(const FrameTarget&) const = default;
};

}  // namespace cw
