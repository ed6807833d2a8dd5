// What the kernel leaves undone in a packet that crosses a TUN device, and we in one that we hand
// to it: checksums not finished, and many segments of one connection in one packet of up to 64 KiB.
// It is said in the virtio_net_hdr before the packet (IFF_VNET_HDR).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace cw {

/// virtio_net_hdr, in the machine's byte order. Ours, because the kernel's header is no C++.
struct VnetHeader {
  uint8_t flags, gso_type;
  uint16_t header_bytes, segment_bytes, checksum_start, checksum_offset;
};
static_assert(sizeof(VnetHeader) == 10);

enum class Gso : uint8_t { None, TcpV4, TcpV6, Udp };

struct Offload {
  /// The checksum field holds the sum of the pseudo header alone; the bytes from checksum_start on
  /// are to be added.
  bool needs_checksum = false;
  uint16_t checksum_start = 0;   ///< where the TCP or UDP header begins
  uint16_t checksum_offset = 0;  ///< of the field, from there
  Gso gso = Gso::None;
  bool has_cwr = false;        ///< TCP: the first segment alone has CWR set
  uint16_t segment_bytes = 0;  ///< payload of each segment; the last may be shorter
  uint16_t header_bytes = 0;   ///< before the payload; written only, being a mere hint when read
};

/// Nothing for a kind that we have not asked the kernel for.
std::optional<Offload> parse_offload(const VnetHeader& header);
VnetHeader encode_offload(const Offload& offload);

/// Finishes the checksum of a packet whose `offload` asks for it. False, and nothing done, when the
/// field is not inside the packet.
bool complete_checksum(std::span<uint8_t> packet, const Offload& offload);

}  // namespace cw
