#include "dataplane/port/tun/offload.h"

#include "dataplane/wire/outer/checksum.h"
#include "dataplane/wire/outer/ip_layout.h"

namespace cw {
namespace {

// As <linux/virtio_net.h> numbers them.
constexpr uint8_t flag_needs_checksum = 1;
constexpr uint8_t gso_none = 0, gso_tcp_v4 = 1, gso_tcp_v6 = 4, gso_udp = 5, gso_with_cwr = 0x80;

std::optional<Gso> gso_of(uint8_t type) {
  switch (type & ~gso_with_cwr) {
    case gso_none:
      return Gso::None;
    case gso_tcp_v4:
      return Gso::TcpV4;
    case gso_tcp_v6:
      return Gso::TcpV6;
    case gso_udp:
      return Gso::Udp;
    default:
      return std::nullopt;
  }
}

uint8_t type_of(Gso gso) {
  switch (gso) {
    case Gso::None:
      return gso_none;
    case Gso::TcpV4:
      return gso_tcp_v4;
    case Gso::TcpV6:
      return gso_tcp_v6;
    case Gso::Udp:
      return gso_udp;
  }
  return gso_none;
}

}  // namespace

std::optional<Offload> parse_offload(const VnetHeader& header) {
  const auto gso = gso_of(header.gso_type);
  if (!gso) return std::nullopt;
  return Offload{.needs_checksum = (header.flags & flag_needs_checksum) != 0,
                 .checksum_start = header.checksum_start,
                 .checksum_offset = header.checksum_offset,
                 .gso = *gso,
                 .has_cwr = (header.gso_type & gso_with_cwr) != 0,
                 .segment_bytes = header.segment_bytes,
                 .header_bytes = header.header_bytes};
}

VnetHeader encode_offload(const Offload& offload) {
  VnetHeader header{};
  header.flags = offload.needs_checksum ? flag_needs_checksum : 0;
  header.gso_type =
      static_cast<uint8_t>(type_of(offload.gso) | (offload.has_cwr ? gso_with_cwr : 0));
  header.header_bytes = offload.header_bytes;
  header.segment_bytes = offload.segment_bytes;
  header.checksum_start = offload.checksum_start;
  header.checksum_offset = offload.checksum_offset;
  return header;
}

bool complete_checksum(std::span<uint8_t> packet, const Offload& offload) {
  const size_t field = size_t{offload.checksum_start} + offload.checksum_offset;
  if (field + sizeof(uint16_t) > packet.size() || offload.checksum_offset % 2 != 0) return false;
  // The field's own content, the pseudo header's sum, is part of what is summed.
  const uint16_t sum = sum_of(packet.subspan(offload.checksum_start));
  const auto checksum = static_cast<uint16_t>(~sum);
  // UDP writes a checksum of zero as ones, since zero says that there is none (RFC 768).
  const bool is_udp = offload.checksum_offset == ip_layout::udp::checksum;
  ip_layout::store16(packet.data() + field, checksum == 0 && is_udp ? 0xffff : checksum);
  return true;
}

}  // namespace cw
