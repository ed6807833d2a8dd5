#include "control/wan/socket/frame.h"

#include <optional>

namespace cw::wan {
namespace {

constexpr uint16_t type_ipv4 = 0x0800, type_arp = 0x0806, type_ipv6 = 0x86dd;
constexpr uint16_t type_vlan = 0x8100, type_service_vlan = 0x88a8;
constexpr uint8_t congestion_experienced = 3;

uint16_t load16(std::span<const uint8_t> bytes, size_t at) {
  return static_cast<uint16_t>(bytes[at] << 8 | bytes[at + 1]);
}

void store16(std::span<uint8_t> bytes, size_t at, uint16_t value) {
  bytes[at] = static_cast<uint8_t>(value >> 8);
  bytes[at + 1] = static_cast<uint8_t>(value);
}

uint16_t folded(uint64_t sum) {
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(sum);
}

struct Inside {
  uint16_t type;
  size_t at;  ///< where the header after Ethernet and VLAN tags begins
};

std::optional<Inside> inside(std::span<const uint8_t> frame) {
  size_t at = ethernet_header_bytes;
  while (at <= frame.size()) {
    const uint16_t type = load16(frame, at - 2);
    if (type != type_vlan && type != type_service_vlan) return Inside{type, at};
    at += vlan_tag_bytes;
  }
  return std::nullopt;
}

bool try_mark_ipv4(std::span<uint8_t> header) {
  constexpr size_t checksum_at = 10;
  if (header.size() < 20 || (header[1] & 3) == 0) return false;
  const uint16_t before = load16(header, 0);
  header[1] |= congestion_experienced;
  // RFC 1624: the checksum follows from the old one and the word that changed.
  const uint64_t sum = uint64_t{static_cast<uint16_t>(~load16(header, checksum_at))} +
                       static_cast<uint16_t>(~before) + load16(header, 0);
  store16(header, checksum_at, static_cast<uint16_t>(~folded(sum)));
  return true;
}

bool try_mark_ipv6(std::span<uint8_t> header) {
  constexpr unsigned shift = 4;  // the traffic class ends in the upper half of the second byte
  if (header.size() < 40 || (header[1] >> shift & 3) == 0) return false;
  header[1] |= congestion_experienced << shift;
  return true;
}

}  // namespace

bool is_neighbour_traffic(std::span<const uint8_t> frame) {
  constexpr size_t ipv6_bytes = 40, next_header_at = 6;
  constexpr uint8_t icmpv6 = 58, router_solicitation = 133, redirect = 137;
  const auto found = inside(frame);
  if (!found) return false;
  if (found->type == type_arp) return true;
  const auto packet = frame.subspan(found->at);
  if (found->type != type_ipv6 || packet.size() <= ipv6_bytes) return false;
  const uint8_t kind = packet[ipv6_bytes];
  return packet[next_header_at] == icmpv6 && kind >= router_solicitation && kind <= redirect;
}

uint16_t udp_source_port(std::span<const uint8_t> frame) {
  constexpr size_t ipv4_bytes_min = 20, ipv6_bytes = 40, udp_bytes = 8;
  constexpr uint8_t udp = 17;
  constexpr uint16_t fragment_offset = 0x1fff;
  const auto found = inside(frame);
  if (!found) return 0;
  const auto packet = frame.subspan(found->at);
  size_t at = ipv6_bytes;
  if (found->type == type_ipv4 && packet.size() >= ipv4_bytes_min) {
    if (packet[9] != udp || (load16(packet, 6) & fragment_offset) != 0) return 0;
    at = size_t{packet[0] & 15u} * 4;
  } else if (found->type != type_ipv6 || packet.size() < ipv6_bytes || packet[6] != udp) {
    return 0;
  }
  return at + udp_bytes <= packet.size() ? load16(packet, at) : 0;
}

bool try_mark_congestion(std::span<uint8_t> frame) {
  const auto found = inside(frame);
  if (!found) return false;
  const auto header = frame.subspan(found->at);
  if (found->type == type_ipv4) return try_mark_ipv4(header);
  return found->type == type_ipv6 && try_mark_ipv6(header);
}

void finish_checksum(std::span<uint8_t> frame, size_t start, size_t offset) {
  if (start > frame.size() || offset + 2 > frame.size() - start) return;
  const auto covered = frame.subspan(start);
  uint64_t sum = 0;
  size_t at = 0;
  // The sender left the sum of the pseudo header in the checksum's place, so it is added as well.
  for (; at + 1 < covered.size(); at += 2) sum += load16(covered, at);
  if (at < covered.size()) sum += uint64_t{covered[at]} << 8;
  const uint16_t checksum = static_cast<uint16_t>(~folded(sum));
  store16(covered, offset, checksum == 0 ? 0xffff : checksum);  // in UDP, 0 would mean "none"
}

}  // namespace cw::wan
