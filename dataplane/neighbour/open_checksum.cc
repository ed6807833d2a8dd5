#include "dataplane/neighbour/open_checksum.h"

#include <cstddef>

#include "dataplane/wire/outer/checksum.h"
#include "dataplane/wire/outer/ip_layout.h"

namespace cw {
namespace {

using namespace ip_layout;

constexpr uint16_t more_or_offset = 0x3fff;

bool finish(std::span<uint8_t> segment, std::span<const uint8_t> addresses, uint8_t protocol) {
  const bool is_udp = protocol == protocol_udp;
  if (!is_udp && protocol != protocol_tcp) return false;
  if (segment.size() < (is_udp ? udp::bytes : tcp::bytes)) return false;
  uint8_t* const field = &segment[is_udp ? udp::checksum : tcp::checksum];
  const uint16_t pseudo = pseudo_header_sum(addresses, protocol, segment.size());
  if (load<be16>(field) != pseudo) return false;
  // The field's own content, that sum, is part of what is summed.
  const uint16_t sum = sum_of(segment);
  if (add_sums(sum, pseudo) == 0xffff) return false;  // right, by chance
  const auto checksum = static_cast<uint16_t>(~sum);
  // UDP writes a checksum of zero as ones, since zero says that there is none (RFC 768).
  store16(field, checksum == 0 && is_udp ? 0xffff : checksum);
  return true;
}

}  // namespace

bool finish_open_checksum(std::span<uint8_t> packet) {
  if (packet.size() >= v4::bytes && packet[0] >> 4 == 4) {
    const size_t header_bytes = size_t{packet[0] & 0xfu} * 4;
    if (header_bytes < v4::bytes || header_bytes > packet.size()) return false;
    if ((load<be16>(&packet[v4::fragment]) & more_or_offset) != 0) return false;
    return finish(packet.subspan(header_bytes), packet.subspan(v4::addresses, v4::addresses_bytes),
                  packet[v4::protocol]);
  }
  if (packet.size() < v6::bytes || packet[0] >> 4 != 6) return false;
  return finish(packet.subspan(v6::bytes), packet.subspan(v6::addresses, v6::addresses_bytes),
                packet[v6::next_header]);
}

}  // namespace cw
