// The outer frame: everything below the transport packet (SPEC.md section 2).
//
//   | Ethernet 14 | 802.1Q 4 | IPv4 20 or IPv6 40 | UDP 8 | transport packet | ICRC 4 |
//     \_ start at Ethernet ___ \_ start at Ip (tun, LAN ports)
//
// Ports build these headers anew for every packet, because the ICRC covers the IPv4 identification
// and the UDP source port. Everything here is a pure function. Thread: any. Nothing allocates.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <expected>
#include <optional>
#include <span>

#include "dataplane/base/endian.h"
#include "dataplane/wire/error.h"
#include "dataplane/wire/roce.h"

namespace cw {

using MacAddress = std::array<uint8_t, 6>;
using IpAddress = std::array<uint8_t, 16>;  ///< IPv4: the first four bytes, the others zero

enum class IpVersion : uint8_t { V4 = 4, V6 = 6 };

/// Reads an address of a header: 4 or 16 bytes from `from`. In one piece, as it is compared and
/// looked up: what is read wider than it was written waits for every store before it.
inline IpAddress ipv4_at(const uint8_t* from) {
  using Words [[gnu::vector_size(sizeof(IpAddress))]] = uint32_t;
  uint32_t first;
  std::memcpy(&first, from, sizeof first);
  return std::bit_cast<IpAddress>(Words{first});
}
inline IpAddress ipv6_at(const uint8_t* from) {
  IpAddress address;
  std::memcpy(address.data(), from, sizeof address);
  return address;
}
/// Its two halves, as the machine reads them: whoever compares addresses compares numbers.
inline std::array<uint64_t, 2> halves_of(const IpAddress& address) {
  return std::bit_cast<std::array<uint64_t, 2>>(address);
}
inline bool is_unspecified(const IpAddress& address) {
  const auto halves = halves_of(address);
  return (halves[0] | halves[1]) == 0;
}

/// Where the bytes of a frame begin.
enum class FrameStart : uint8_t { Ethernet, Ip };

/// What the outer headers say, save lengths and checksums. Fields that the IP version or the frame
/// start does not have are ignored when written and left alone when read.
struct FrameAddress {
  MacAddress target_mac{}, source_mac{};
  std::optional<uint16_t> vlan;  ///< priority, drop eligibility and id, as in the tag
  IpVersion ip_version = IpVersion::V4;
  IpAddress source_ip{}, target_ip{};
  uint8_t dscp = 0;              ///< six bits
  uint8_t ecn = 0;               ///< two bits
  uint8_t hop_limit = 64;        ///< IPv4: time to live
  uint32_t flow_label = 0;       ///< IPv6, 20 bits
  uint16_t identification = 0;   ///< IPv4
  bool dont_fragment = true;     ///< IPv4
  uint16_t source_udp_port = 0;  ///< the entropy that picks a path
  uint16_t target_udp_port = roce_udp_port;
  /// False: the checksum field is zero (RFC 6935 allows it over IPv6). True: the field is for
  /// write_udp_checksum() to fill; read: it was not zero.
  bool has_udp_checksum = false;

  bool operator==(const FrameAddress&) const = default;
};

inline constexpr size_t outer_headers_bytes_max = 14 + 4 + 40 + 8;

/// Bytes before the IP header.
constexpr size_t link_header_bytes(const FrameAddress& address, FrameStart start) {
  if (start == FrameStart::Ip) return 0;
  return address.vlan ? 18 : 14;
}
/// Bytes before the transport packet.
constexpr size_t outer_header_bytes(const FrameAddress& address, FrameStart start) {
  const size_t ip_bytes = address.ip_version == IpVersion::V4 ? 20 : 40;
  return link_header_bytes(address, start) + ip_bytes + 8;
}

/// Writes all headers before a transport packet of `transport_bytes` (BTH to pad, ICRC excluded).
/// The IPv4 checksum is set, the UDP checksum zero.
/// Bounds:  `out` holds outer_header_bytes(); with them the IP packet is at most 65,535 bytes.
/// Returns: outer_header_bytes().    Cost: hot.
size_t encode_outer_headers(const FrameAddress& address, FrameStart start, size_t transport_bytes,
                            std::span<uint8_t> out);

/// Puts the checksum into the UDP header of an IP packet, whose bytes lie in up to three places:
/// `ip_packet` begins at the IP header and holds the UDP header and an even number of bytes;
/// `middle`, even too, and `last` follow on the wire. The ICRC is the end of these bytes and comes
/// first, because it does not cover the UDP checksum, but the checksum covers it.
void write_udp_checksum(std::span<uint8_t> ip_packet, std::span<const uint8_t> middle = {},
                        std::span<const uint8_t> last = {});

/// A frame that was taken apart. Offsets count from the first byte given.
struct Frame {
  FrameAddress address;
  uint32_t ip_offset = 0;
  uint32_t transport_offset = 0;
  uint32_t transport_bytes = 0;  ///< without the ICRC, which follows

  std::span<const uint8_t> ip_and_udp_of(std::span<const uint8_t> bytes) const {
    return bytes.subspan(ip_offset, transport_offset - ip_offset);
  }
  std::span<const uint8_t> transport_of(std::span<const uint8_t> bytes) const {
    return bytes.subspan(transport_offset, transport_bytes);
  }
  /// The transport packet and its ICRC.
  std::span<const uint8_t> covered_of(std::span<const uint8_t> bytes) const {
    return bytes.subspan(transport_offset, transport_bytes + icrc_bytes);
  }
};

/// Takes a frame apart. IPv4 options are stepped over; bytes behind the IP packet (Ethernet pads
/// short frames) are accepted. The UDP port is not compared and the UDP checksum not verified: the
/// ICRC guards the same bytes.
/// Returns: one of the errors of the outer frame (errors.def).    Cost: hot.
std::expected<Frame, WireError> parse_frame(std::span<const uint8_t> bytes, FrameStart start);

}  // namespace cw
