// What a gateway reads of a host's packet, and the few bits that it changes in passing.
//
// Whatever comes from the LAN is hostile: an IP header that contradicts itself or the bytes at hand
// is refused. Behind a sound IP header nothing is refused, for a router has no business with what
// hosts say to each other: a TCP, UDP or RoCE header that is cut short leaves its fields unset.
//
// Of a fragmented packet only the first piece has ports, so none is read from any: all pieces must
// fall into the same class and the same flow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "dataplane/gateway/options.h"
#include "dataplane/wire/opcode.h"
#include "dataplane/wire/outer/frame.h"

namespace cw::gateway {

inline constexpr uint8_t ecn_not_capable = 0, ecn_ect1 = 1, ecn_ect0 = 2, ecn_ce = 3;

struct IpPacket {
  IpAddress source{}, target{};  ///< as they lie in the header, whatever options may say
  bool is_v6 = false;
  bool is_fragment = false;        ///< one of several pieces; no ports, no RoCE
  bool is_later_fragment = false;  ///< and not the first of them
  bool has_ports = false;
  bool is_roce = false;  ///< RoCEv2 of any opcode: `opcode` and `target_qp` are set
  uint8_t protocol = 0;  ///< behind IPv6 extension headers; of the fragment header in fragments
  uint8_t dscp = 0, ecn = 0;
  uint8_t ttl = 0;     ///< IPv6: hop limit
  uint8_t opcode = 0;  ///< of the BTH
  uint16_t source_port = 0, target_port = 0;
  uint32_t target_qp = 0;     ///< 24 bits
  uint16_t header_bytes = 0;  ///< IP with options or extension headers: where `protocol` begins
  uint16_t bytes = 0;         ///< of the IP packet; what lies behind is padding of the link
  PacketKind kind = PacketKind::Other;

  const OpcodeFacts& roce() const { return opcode_table[opcode]; }
  /// From responder to requester: READ and ATOMIC responses, acknowledgements.
  bool is_roce_response() const { return is_roce && roce().is_response(); }
  bool is_roce_acknowledgement() const { return is_roce && roce().is_pure_acknowledgement(); }
};

/// Whether what follows is an extension header of IPv6.
constexpr bool is_ipv6_extension(uint8_t next) {
  constexpr uint8_t hop_by_hop = 0, routing = 43, fragment = 44, authentication = 51, options = 60,
                    mobility = 135, identity = 139, shim = 140;
  return next == hop_by_hop || next == routing || next == fragment || next == authentication ||
         next == options || next == mobility || next == identity || next == shim;
}

/// Reads one packet of at most limits::frame_bytes_max. Nothing when it is no IP packet, is shorter
/// than it says, its IPv4 header checksum is wrong, or its IPv6 extension headers run beyond its
/// end or are more than a packet can need. Cost: hot; no byte is copied but the addresses.
std::optional<IpPacket> parse_ip_packet(std::span<const uint8_t> bytes);

// ---- changes in place; `packet` has been parsed, the IPv4 header checksum is kept right ----

/// One hop. False, and nothing changed, when the packet may not travel another.
bool try_decrement_ttl(std::span<uint8_t> packet);
/// One hop, and as many as it takes until `most` are left. False, and nothing changed, as above.
bool try_limit_ttl(std::span<uint8_t> packet, uint8_t most);
void set_ecn(std::span<uint8_t> packet, uint8_t ecn);
void set_dscp(std::span<uint8_t> packet, uint8_t dscp);
/// Marks congestion. False, and nothing changed, when the sender would not understand.
bool try_set_ce(std::span<uint8_t> packet);

}  // namespace cw::gateway
