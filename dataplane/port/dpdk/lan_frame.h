// What a LAN port reads of a host's frame: Ethernet and the ends of the IP packet. Pure functions
// over bytes of any kind.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "dataplane/port/dpdk/address.h"
#include "dataplane/wire/ip_layout.h"

namespace cw::lan_frame {

inline constexpr size_t target_offset = 0, source_offset = 6, type_offset = 12;
inline constexpr uint32_t header_bytes = 14, tag_bytes = 4;
inline constexpr uint16_t type_ipv4 = 0x0800, type_vlan = 0x8100, type_ipv6 = 0x86dd;
inline constexpr uint16_t vlan_max = 4094;

// ---- of a frame that holds header_bytes; vlan_of(): and tag_bytes

inline MacAddress mac_at(std::span<const uint8_t> frame, size_t offset) {
  MacAddress mac;
  std::copy_n(&frame[offset], mac.size(), mac.begin());
  return mac;
}
inline uint16_t type_of(std::span<const uint8_t> frame) {
  return ip_layout::load<be16>(&frame[type_offset]);
}
inline uint16_t vlan_of(std::span<const uint8_t> frame) {
  return ip_layout::load<be16>(&frame[header_bytes]) & 0xfff;
}

// ---- of an IP packet

struct Ends {
  HostAddress source, target;
  uint32_t bytes = 0;  ///< as its header says
};

inline HostAddress host_at(const uint8_t* from, IpVersion version) {
  HostAddress host{.version = version};
  std::copy_n(from, version == IpVersion::V4 ? 4 : 16, host.ip.begin());
  return host;
}

/// Nothing: no IP, or less than a header of it.
inline std::optional<Ends> ends_of(std::span<const uint8_t> ip) {
  using namespace ip_layout;
  if (ip.size() >= v4::bytes && ip[0] >> 4 == 4) {
    const uint8_t* const addresses = &ip[v4::addresses];
    const uint32_t bytes = load<be16>(&ip[v4::total_length]);
    if (bytes < v4::bytes) return std::nullopt;
    return Ends{host_at(addresses, IpVersion::V4), host_at(addresses + 4, IpVersion::V4), bytes};
  }
  if (ip.size() < v6::bytes || ip[0] >> 4 != 6) return std::nullopt;
  const uint8_t* const addresses = &ip[v6::addresses];
  const uint32_t bytes = v6::bytes + load<be16>(&ip[v6::payload_length]);
  return Ends{host_at(addresses, IpVersion::V6), host_at(addresses + 16, IpVersion::V6), bytes};
}

/// Whether it can be the address of one machine.
inline bool is_host(const HostAddress& it) {
  if (it.ip == IpAddress{}) return false;
  return it.is_v4() ? it.ip[0] != 0 && it.ip[0] != 127 && it.ip[0] < 224 : it.ip[0] != 0xff;
}
/// And one that packets from elsewhere are sent to.
inline bool is_routable_host(const HostAddress& it) {
  return is_host(it) && (it.is_v4() || it.ip[0] != 0xfe || (it.ip[1] & 0xc0) != 0x80);
}

}  // namespace cw::lan_frame
