// The forty bytes that a device puts in front of a datagram: an IPv6 header, or an IPv4 one in
// their last part.
#pragma once

#include <cstdint>
#include <cstring>

#include "dataplane/port/verbs/device/handles.h"

namespace cw::verbs {

inline constexpr uint32_t routing_header_bytes = 40;

struct OuterHeader {
  ibv_gid source{};
  uint8_t traffic_class = 0;
  bool is_multicast = false;  ///< it went to a group
};

/// Of what came to an address of this family. Thread: any.
inline OuterHeader read_outer(const uint8_t* header, bool is_v4) {
  constexpr size_t v4_at = 20, v4_tos_at = v4_at + 1, v4_source_at = v4_at + 12;
  constexpr size_t v4_target_at = v4_at + 16, v6_source_at = 8, v6_target_at = 24;
  OuterHeader outer;
  if (is_v4) {
    outer.source.raw[10] = outer.source.raw[11] = 0xff;
    std::memcpy(&outer.source.raw[12], header + v4_source_at, 4);
    outer.traffic_class = header[v4_tos_at];
    outer.is_multicast = header[v4_target_at] >> 4 == 0xe;
    return outer;
  }
  std::memcpy(outer.source.raw, header + v6_source_at, sizeof outer.source.raw);
  outer.traffic_class = static_cast<uint8_t>(header[0] << 4 | header[1] >> 4);
  outer.is_multicast = header[v6_target_at] == 0xff;
  return outer;
}

}  // namespace cw::verbs
