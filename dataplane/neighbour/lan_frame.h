// What a LAN port reads of a host's frame: Ethernet and the ends of the IP packet. Pure functions
// over bytes of any kind.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "dataplane/neighbour/address.h"
#include "dataplane/wire/outer/ip_layout.h"

namespace cw::lan_frame {

inline constexpr size_t target_offset = 0, source_offset = 6, type_offset = 12;
inline constexpr uint32_t header_bytes = 14, tag_bytes = 4;
inline constexpr uint16_t type_ipv4 = 0x0800, type_vlan = 0x8100, type_ipv6 = 0x86dd;
inline constexpr uint16_t vlan_max = 4094;

// ---- of a frame that holds header_bytes; vlan_of(): and tag_bytes

inline MacAddress mac_at(std::span<const uint8_t> frame, size_t offset) {
  MacAddress mac;
  std::memcpy(mac.data(), &frame[offset], sizeof mac);
  return mac;
}
inline bool is_mac_at(std::span<const uint8_t> frame, size_t offset, const MacAddress& mac) {
  return number_of(mac_at(frame, offset)) == number_of(mac);
}
inline uint16_t type_of(std::span<const uint8_t> frame) {
  return ip_layout::load<be16>(&frame[type_offset]);
}
inline uint16_t vlan_of(std::span<const uint8_t> frame) {
  return ip_layout::load<be16>(&frame[header_bytes]) & 0xfff;
}

// ---- of a frame with an IPv4 or an IPv6 header

/// Which host sends to which, and by which machines: the link's header and both addresses.
inline std::array<uint64_t, 3> ipv4_pair_of(const uint8_t* frame) {
  const uint8_t* const addresses = frame + header_bytes + ip_layout::v4::addresses;
  return {read_at<uint64_t>(frame), read_at<uint64_t>(frame + source_offset),
          read_at<uint64_t>(addresses)};
}
inline std::array<uint64_t, 6> ipv6_pair_of(const uint8_t* frame) {
  const uint8_t* const addresses = frame + header_bytes + ip_layout::v6::addresses;
  return {read_at<uint64_t>(frame),          read_at<uint64_t>(frame + source_offset),
          read_at<uint64_t>(addresses),      read_at<uint64_t>(addresses + 8),
          read_at<uint64_t>(addresses + 16), read_at<uint64_t>(addresses + 24)};
}
static_assert(source_offset + sizeof(uint64_t) == header_bytes);

// ---- of an IP packet

struct Ends {
  HostAddress source, target;
  uint32_t bytes = 0;  ///< as its header says
};

/// Nothing: no IP, or less than a header of it. Filled where the caller reads it, see ipv4_at().
inline std::optional<Ends> ends_of(std::span<const uint8_t> ip) {
  using namespace ip_layout;
  std::optional<Ends> ends;
  if (ip.size() >= v4::bytes && ip[0] >> 4 == 4) {
    const uint8_t* const addresses = &ip[v4::addresses];
    const uint32_t bytes = load<be16>(&ip[v4::total_length]);
    if (bytes < v4::bytes) return ends;
    ends.emplace(HostAddress{ipv4_at(addresses), IpVersion::V4},
                 HostAddress{ipv4_at(addresses + 4), IpVersion::V4}, bytes);
  } else if (ip.size() >= v6::bytes && ip[0] >> 4 == 6) {
    const uint8_t* const addresses = &ip[v6::addresses];
    ends.emplace(HostAddress{ipv6_at(addresses), IpVersion::V6},
                 HostAddress{ipv6_at(addresses + 16), IpVersion::V6},
                 v6::bytes + load<be16>(&ip[v6::payload_length]));
  }
  return ends;
}

/// Whether `host` is the source of an IP packet of either version that holds a header of it.
inline bool is_source_of(const uint8_t* ip, const HostAddress& host) {
  using namespace ip_layout;
  if (ip[0] >> 4 != static_cast<uint8_t>(host.version)) return false;
  if (host.is_v4()) return std::memcmp(ip + v4::addresses, host.ip.data(), 4) == 0;
  const auto halves = halves_of(host.ip);
  return read_at<uint64_t>(ip + v6::addresses) == halves[0] &&
         read_at<uint64_t>(ip + v6::addresses + 8) == halves[1];
}

/// Whether it can be the address of one machine.
inline bool is_host(const HostAddress& it) {
  if (is_unspecified(it.ip)) return false;
  return it.is_v4() ? it.ip[0] != 0 && it.ip[0] != 127 && it.ip[0] < 224 : it.ip[0] != 0xff;
}
/// And one that packets from elsewhere are sent to.
inline bool is_routable_host(const HostAddress& it) {
  return is_host(it) && (it.is_v4() || it.ip[0] != 0xfe || (it.ip[1] & 0xc0) != 0x80);
}

}  // namespace cw::lan_frame
