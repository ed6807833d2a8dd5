#include "dataplane/gateway/ingress/ip_packet.h"

#include <algorithm>
#include <cstring>

#include "dataplane/base/assert.h"
#include "dataplane/base/endian.h"
#include "dataplane/base/limits.h"
#include "dataplane/wire/outer/checksum.h"
#include "dataplane/wire/outer/ip_layout.h"
#include "dataplane/wire/roce.h"

namespace cw::gateway {
namespace {

using namespace ip_layout;
using Bytes = std::span<const uint8_t>;

constexpr uint8_t protocol_icmp = 1, protocol_icmpv6 = 58;
constexpr uint8_t fragment = 44, authentication = 51;
// RFC 8200 has each header at most once, save two of options; more is somebody searching for
// limits.
constexpr int extension_headers_max = 8;
constexpr uint16_t v4_more_fragments = 0x2000, v4_fragment_offset = 0x1fff;
constexpr uint16_t v6_more_fragments = 0x0001, v6_fragment_offset = 0xfff8;

uint16_t load16(Bytes bytes, size_t at) { return load<be16>(bytes.data() + at); }

bool parse_v4(Bytes bytes, IpPacket& packet) {
  if (bytes.size() < v4::bytes) return false;
  const size_t header = size_t{bytes[0]} % 16 * 4;
  const size_t total = load16(bytes, v4::total_length);
  if (header < v4::bytes || total < header || total > bytes.size()) return false;
  if (sum_of(bytes.first(header)) != 0xffff) return false;
  packet.bytes = static_cast<uint16_t>(total);
  packet.header_bytes = static_cast<uint16_t>(header);
  packet.dscp = bytes[v4::tos] >> 2;
  packet.ecn = bytes[v4::tos] & 3;
  packet.ttl = bytes[v4::ttl];
  packet.protocol = bytes[v4::protocol];
  const uint16_t flags = load16(bytes, v4::fragment);
  packet.is_later_fragment = (flags & v4_fragment_offset) != 0;
  packet.is_fragment = (flags & (v4_fragment_offset | v4_more_fragments)) != 0;
  packet.source = ipv4_at(bytes.data() + v4::addresses);
  packet.target = ipv4_at(bytes.data() + v4::addresses + 4);
  return true;
}

/// Steps over extension headers, up to the first of a fragmented packet's own. `bytes` ends with
/// the IP packet.
bool step_over_extensions(Bytes bytes, IpPacket& packet) {
  size_t at = v6::bytes;
  uint8_t next = bytes[v6::next_header];
  for (int count = 0; is_ipv6_extension(next) && !packet.is_fragment; ++count) {
    if (count == extension_headers_max || bytes.size() - at < 8) return false;
    size_t step = (size_t{bytes[at + 1]} + 1) * 8;
    if (next == authentication) step = (size_t{bytes[at + 1]} + 2) * 4;
    if (next == fragment) {
      step = 8;
      const uint16_t field = load16(bytes, at + 2);
      packet.is_later_fragment = (field & v6_fragment_offset) != 0;
      packet.is_fragment = (field & (v6_fragment_offset | v6_more_fragments)) != 0;
    }
    if (bytes.size() - at < step) return false;
    next = bytes[at];
    at += step;
  }
  packet.protocol = next;
  packet.header_bytes = static_cast<uint16_t>(at);
  return true;
}

bool parse_v6(Bytes bytes, IpPacket& packet) {
  if (bytes.size() < v6::bytes) return false;
  const size_t total = v6::bytes + load16(bytes, v6::payload_length);
  if (total > bytes.size()) return false;
  packet.is_v6 = true;
  packet.bytes = static_cast<uint16_t>(total);
  const uint16_t first = load16(bytes, 0);
  packet.dscp = first >> 6 & 0x3f;
  packet.ecn = first >> 4 & 3;
  packet.ttl = bytes[7];
  packet.source = ipv6_at(bytes.data() + v6::addresses);
  packet.target = ipv6_at(bytes.data() + v6::addresses + 16);
  return step_over_extensions(bytes.first(total), packet);
}

PacketKind kind_of_roce(const OpcodeFacts& facts) {
  switch (facts.service) {
    case Service::Rc:
    case Service::Xrc:
    case Service::Uc:
      return PacketKind::RoceRc;
    case Service::Ud:
    case Service::Cnp:
      return PacketKind::RoceUd;
    case Service::Unknown:
      break;
  }
  return PacketKind::Other;
}

/// What stands behind a UDP header to 4791. Not RoCE when it is no BTH: somebody else's datagram.
void read_roce(Bytes transport, IpPacket& packet) {
  Bth bth;
  if (transport.size() < sizeof bth) return;
  std::memcpy(&bth, transport.data(), sizeof bth);
  if ((bth.flags & Bth::version_mask) != 0) return;
  packet.is_roce = true;
  packet.opcode = bth.opcode;
  packet.target_qp = bth.target_qp.host();
  packet.kind = kind_of_roce(packet.roce());
}

void read_upper(Bytes upper, IpPacket& packet) {
  const bool is_tcp = packet.protocol == protocol_tcp, is_udp = packet.protocol == protocol_udp;
  if (is_tcp) packet.kind = PacketKind::Tcp;
  if (is_udp) packet.kind = PacketKind::Udp;
  if (packet.protocol == (packet.is_v6 ? protocol_icmpv6 : protocol_icmp)) {
    packet.kind = PacketKind::Icmp;
  }
  const size_t whole = is_tcp ? tcp::bytes : udp::bytes;
  if (!(is_tcp || is_udp) || packet.is_fragment || upper.size() < whole) return;
  packet.has_ports = true;
  packet.source_port = load16(upper, 0);
  packet.target_port = load16(upper, 2);
  if (is_udp && packet.target_port == roce_udp_port) read_roce(upper.subspan(udp::bytes), packet);
}

/// Puts `value` into the 16-bit word at an even `offset` of an IPv4 header.
void set_word_v4(std::span<uint8_t> packet, size_t offset, uint16_t value) {
  // RFC 1624, equation 3: the only one that never makes a zero sum out of another.
  const uint16_t sum = static_cast<uint16_t>(~load16(packet, v4::checksum));
  const uint16_t without = subtract_sum(sum, load16(packet, offset));
  store16(packet.data() + offset, value);
  store16(packet.data() + v4::checksum, static_cast<uint16_t>(~add_sums(without, value)));
}

/// The byte that is DSCP and ECN: second of an IPv4 header, across the first two of IPv6.
void set_traffic_class(std::span<uint8_t> packet, uint8_t clear, uint8_t set) {
  const uint16_t first = load16(packet, 0);
  if (packet[0] >> 4 == 4) {
    set_word_v4(packet, 0, static_cast<uint16_t>((first & ~clear) | set));
  } else {
    store16(packet.data(), static_cast<uint16_t>((first & ~(clear << 4)) | set << 4));
  }
}

}  // namespace

// Filled where the caller will read it: a copy would be read wider than it has just been written,
// and wait for the stores of the packet before.
std::optional<IpPacket> parse_ip_packet(Bytes bytes) {
  std::optional<IpPacket> parsed;
  if (bytes.empty() || bytes.size() > limits::frame_bytes_max) return parsed;
  IpPacket& packet = parsed.emplace();
  const int version = bytes[0] >> 4;
  const bool is_sound = version == 4   ? parse_v4(bytes, packet)
                        : version == 6 ? parse_v6(bytes, packet)
                                       : false;
  if (is_sound) {
    read_upper(bytes.first(packet.bytes).subspan(packet.header_bytes), packet);
  } else {
    parsed.reset();
  }
  return parsed;
}

bool try_decrement_ttl(std::span<uint8_t> packet) { return try_limit_ttl(packet, UINT8_MAX); }

bool try_limit_ttl(std::span<uint8_t> packet, uint8_t most) {
  CW_DCHECK(packet.size() >= v4::bytes);
  const bool is_v4 = packet[0] >> 4 == 4;
  const size_t at = is_v4 ? v4::ttl : 7;
  if (packet[at] <= 1) return false;
  const auto ttl = static_cast<uint8_t>(std::min<unsigned>(packet[at] - 1u, most));
  if (is_v4) {
    set_word_v4(packet, at, static_cast<uint16_t>(ttl << 8 | packet[at + 1]));
  } else {
    packet[at] = ttl;
  }
  return true;
}

void set_ecn(std::span<uint8_t> packet, uint8_t ecn) {
  CW_DCHECK(packet.size() >= v4::bytes && ecn <= ecn_ce);
  set_traffic_class(packet, 0x03, ecn);
}

void set_dscp(std::span<uint8_t> packet, uint8_t dscp) {
  CW_DCHECK(packet.size() >= v4::bytes && dscp < 64);
  set_traffic_class(packet, 0xfc, static_cast<uint8_t>(dscp << 2));
}

bool try_set_ce(std::span<uint8_t> packet) {
  CW_DCHECK(packet.size() >= v4::bytes);
  const uint8_t low = packet[0] >> 4 == 4 ? packet[v4::tos] : packet[1] >> 4;
  if ((low & 3) == ecn_not_capable) return false;
  set_ecn(packet, ecn_ce);
  return true;
}

}  // namespace cw::gateway
