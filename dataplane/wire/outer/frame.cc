#include "dataplane/wire/outer/frame.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "dataplane/base/assert.h"

namespace cw {
namespace {

struct Ethernet {
  MacAddress target, source;
  be16 type;
};
struct VlanTag {
  be16 control;
  be16 type;
};
struct Ipv4 {
  uint8_t version_length;  ///< version 4 | header length in words 4
  uint8_t traffic_class;   ///< DSCP 6 | ECN 2
  be16 total_bytes;
  be16 identification;
  be16 fragment;  ///< reserved 1 | don't fragment 1 | more fragments 1 | offset 13
  uint8_t time_to_live;
  uint8_t protocol;
  be16 checksum;
  uint8_t source[4], target[4];
};
struct Ipv6 {
  be32 version_class_label;  ///< version 4 | DSCP 6 | ECN 2 | flow label 20
  be16 payload_bytes;
  uint8_t next_header;
  uint8_t hop_limit;
  uint8_t source[16], target[16];
};
struct Udp {
  be16 source_port, target_port, bytes, checksum;
};
static_assert(sizeof(Ethernet) == 14 && sizeof(VlanTag) == 4 && sizeof(Udp) == 8);
static_assert(sizeof(Ipv4) == 20 && sizeof(Ipv6) == 40);

constexpr uint16_t type_ipv4 = 0x0800, type_ipv6 = 0x86dd, type_vlan = 0x8100;
constexpr uint8_t protocol_udp = 17;
constexpr uint16_t dont_fragment = 0x4000, fragment_mask = 0x3fff;

template <class Header>
Header read_at(std::span<const uint8_t> bytes, size_t offset) {
  Header header;
  std::memcpy(&header, bytes.data() + offset, sizeof(header));
  return header;
}

// Headers are written field by field where they go: put together elsewhere and copied, they would
// be read wider than they had just been written, which waits for every store before them.
template <class Header>
size_t write_at(std::span<uint8_t> out, size_t offset, const Header& header) {
  std::memcpy(out.data() + offset, &header, sizeof(header));
  return offset + sizeof(header);
}

// The Internet checksum (RFC 1071) does not depend on byte order: it is summed in the machine's
// own, four bytes at a time, and only put back into be16 at the end.

/// Adds bytes that begin at an even offset; an odd count only at the very end.
uint64_t sum_of(std::span<const uint8_t> bytes, uint64_t sum) {
  size_t i = 0;
  for (; i + 4 <= bytes.size(); i += 4) sum += read_at<uint32_t>(bytes, i);
  if (i == bytes.size()) return sum;  // and `bytes` may be null
  uint32_t last = 0;
  std::memcpy(&last, bytes.data() + i, bytes.size() - i);
  return sum + last;
}
uint64_t sum_of(be16 value, uint64_t sum) { return sum + std::bit_cast<uint16_t>(value); }

be16 checksum_of(uint64_t sum) {
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return std::bit_cast<be16>(static_cast<uint16_t>(~sum));
}

be16 ipv4_checksum(std::span<const uint8_t> header) { return checksum_of(sum_of(header, 0)); }

size_t encode_link(const FrameAddress& address, std::span<uint8_t> out) {
  const bool is_v4 = address.ip_version == IpVersion::V4;
  const be16 type(is_v4 ? type_ipv4 : type_ipv6);
  const be16 first_type = address.vlan ? be16(type_vlan) : type;
  size_t end = write_at(out, 0, address.target_mac);
  end = write_at(out, end, address.source_mac);
  end = write_at(out, end, first_type);
  return address.vlan ? write_at(out, end, VlanTag{be16(*address.vlan), type}) : end;
}

size_t encode_ipv4(const FrameAddress& address, size_t ip_bytes, std::span<uint8_t> out,
                   size_t offset) {
  constexpr uint8_t version_length = 0x45;
  const auto traffic_class = static_cast<uint8_t>(address.dscp << 2 | (address.ecn & 3));
  const be16 first(static_cast<uint16_t>(version_length << 8 | traffic_class));
  const be16 total_bytes(static_cast<uint16_t>(ip_bytes)), identification(address.identification);
  const be16 fragment(address.dont_fragment ? dont_fragment : uint16_t{0});
  const be16 life(static_cast<uint16_t>(address.hop_limit << 8 | protocol_udp));
  const auto source = std::span(address.source_ip).first(4);
  const auto target = std::span(address.target_ip).first(4);
  uint64_t sum = sum_of(target, sum_of(source, 0));
  for (const be16 field : {first, total_bytes, identification, fragment, life}) {
    sum = sum_of(field, sum);
  }
  size_t end = write_at(out, offset, first);
  end = write_at(out, end, total_bytes);
  end = write_at(out, end, identification);
  end = write_at(out, end, fragment);
  end = write_at(out, end, life);
  end = write_at(out, end, checksum_of(sum));
  end = write_at(out, end, read_at<uint32_t>(source, 0));
  return write_at(out, end, read_at<uint32_t>(target, 0));
}

size_t encode_ipv6(const FrameAddress& address, size_t ip_bytes, std::span<uint8_t> out,
                   size_t offset) {
  const auto traffic_class = static_cast<uint8_t>(address.dscp << 2 | (address.ecn & 3));
  Ipv6 ip = {
      .version_class_label =
          be32(6u << 28 | uint32_t{traffic_class} << 20 | (address.flow_label & 0xfffff)),
      .payload_bytes = be16(static_cast<uint16_t>(ip_bytes - sizeof(Ipv6))),
      .next_header = protocol_udp,
      .hop_limit = address.hop_limit,
      .source = {},
      .target = {},
  };
  std::copy_n(address.source_ip.begin(), 16, ip.source);
  std::copy_n(address.target_ip.begin(), 16, ip.target);
  return write_at(out, offset, ip);
}

/// Where the IP payload lies, and of what kind it is.
struct IpPayload {
  size_t offset;
  size_t bytes;
  uint8_t protocol;
};

/// SPEC 2.2
std::expected<IpPayload, WireError> parse_ipv4(std::span<const uint8_t> bytes, size_t offset,
                                               FrameAddress& address) {
  if (bytes.size() - offset < sizeof(Ipv4)) return std::unexpected(WireError::FrameShort);
  const auto ip = read_at<Ipv4>(bytes, offset);
  const size_t header_bytes = size_t{ip.version_length & 0x0fu} * 4;
  const size_t total_bytes = ip.total_bytes.host();
  if (header_bytes < sizeof(Ipv4) || total_bytes < header_bytes ||
      total_bytes > bytes.size() - offset) {
    return std::unexpected(WireError::IpLength);
  }
  if (ipv4_checksum(bytes.subspan(offset, header_bytes)) != be16(0)) {
    return std::unexpected(WireError::IpChecksum);
  }
  if (ip.fragment.host() & fragment_mask) return std::unexpected(WireError::IpFragment);
  address.ip_version = IpVersion::V4;
  address.dscp = ip.traffic_class >> 2;
  address.ecn = ip.traffic_class & 3;
  address.hop_limit = ip.time_to_live;
  address.identification = ip.identification.host();
  address.dont_fragment = ip.fragment.host() & dont_fragment;
  std::copy_n(ip.source, 4, address.source_ip.begin());
  std::copy_n(ip.target, 4, address.target_ip.begin());
  return IpPayload{offset + header_bytes, total_bytes - header_bytes, ip.protocol};
}

/// Headers that may stand between IPv6 and its payload: hop-by-hop, routing, ESP, AH, destination
/// options, mobility, HIP, shim6.
constexpr bool is_ipv6_extension(uint8_t next_header) {
  constexpr uint8_t extensions[] = {0, 43, 50, 51, 60, 135, 139, 140};
  return std::ranges::find(extensions, next_header) != std::end(extensions);
}

/// SPEC 2.3
std::expected<IpPayload, WireError> parse_ipv6(std::span<const uint8_t> bytes, size_t offset,
                                               FrameAddress& address) {
  constexpr uint8_t next_fragment = 44;
  if (bytes.size() - offset < sizeof(Ipv6)) return std::unexpected(WireError::FrameShort);
  const auto ip = read_at<Ipv6>(bytes, offset);
  const size_t payload_bytes = ip.payload_bytes.host();
  if (payload_bytes > bytes.size() - offset - sizeof(Ipv6)) {
    return std::unexpected(WireError::IpLength);
  }
  if (ip.next_header == next_fragment) return std::unexpected(WireError::IpFragment);
  if (is_ipv6_extension(ip.next_header)) return std::unexpected(WireError::IpExtension);
  const uint32_t first = ip.version_class_label.host();
  address.ip_version = IpVersion::V6;
  address.dscp = first >> 22 & 0x3f;
  address.ecn = first >> 20 & 3;
  address.flow_label = first & 0xfffff;
  address.hop_limit = ip.hop_limit;
  std::copy_n(ip.source, 16, address.source_ip.begin());
  std::copy_n(ip.target, 16, address.target_ip.begin());
  return IpPayload{offset + sizeof(Ipv6), payload_bytes, ip.next_header};
}

/// SPEC 2.1. Returns the offset of the IP header, whose version is checked against the EtherType.
std::expected<size_t, WireError> parse_link(std::span<const uint8_t> bytes, FrameAddress& address) {
  if (bytes.size() < sizeof(Ethernet)) return std::unexpected(WireError::FrameShort);
  const auto ethernet = read_at<Ethernet>(bytes, 0);
  address.target_mac = ethernet.target;
  address.source_mac = ethernet.source;
  uint16_t type = ethernet.type.host();
  size_t end = sizeof(Ethernet);
  if (type == type_vlan) {
    if (bytes.size() < end + sizeof(VlanTag)) return std::unexpected(WireError::FrameShort);
    const auto tag = read_at<VlanTag>(bytes, end);
    address.vlan = tag.control.host();
    type = tag.type.host();
    end += sizeof(VlanTag);
  }
  if (type != type_ipv4 && type != type_ipv6) return std::unexpected(WireError::FrameType);
  if (bytes.size() == end) return std::unexpected(WireError::FrameShort);
  if (bytes[end] >> 4 != (type == type_ipv4 ? 4 : 6)) return std::unexpected(WireError::IpVersion);
  return end;
}

std::expected<IpPayload, WireError> parse_ip(std::span<const uint8_t> bytes, size_t offset,
                                             FrameAddress& address) {
  if (bytes.size() <= offset) return std::unexpected(WireError::FrameShort);
  switch (bytes[offset] >> 4) {
    case 4:
      return parse_ipv4(bytes, offset, address);
    case 6:
      return parse_ipv6(bytes, offset, address);
    default:
      return std::unexpected(WireError::IpVersion);
  }
}

/// Fills `frame`; returns what is wrong, if anything. SPEC 2.4 for UDP.
std::optional<WireError> read_frame(std::span<const uint8_t> bytes, FrameStart start,
                                    Frame& frame) {
  if (start == FrameStart::Ethernet) {
    const auto end = parse_link(bytes, frame.address);
    if (!end) return end.error();
    frame.ip_offset = static_cast<uint32_t>(*end);
  }
  const auto payload = parse_ip(bytes, frame.ip_offset, frame.address);
  if (!payload) return payload.error();
  if (payload->protocol != protocol_udp) return WireError::IpProtocol;
  if (payload->bytes < sizeof(Udp) + icrc_bytes) return WireError::UdpLength;
  const auto udp = read_at<Udp>(bytes, payload->offset);
  if (udp.bytes.host() != payload->bytes) return WireError::UdpLength;
  frame.address.source_udp_port = udp.source_port.host();
  frame.address.target_udp_port = udp.target_port.host();
  frame.address.has_udp_checksum = udp.checksum.host() != 0;
  frame.transport_offset = static_cast<uint32_t>(payload->offset + sizeof(Udp));
  frame.transport_bytes = static_cast<uint32_t>(payload->bytes - sizeof(Udp) - icrc_bytes);
  return std::nullopt;
}

}  // namespace

size_t encode_outer_headers(const FrameAddress& address, FrameStart start, size_t transport_bytes,
                            std::span<uint8_t> out) {
  const bool is_v4 = address.ip_version == IpVersion::V4;
  const size_t udp_bytes = sizeof(Udp) + transport_bytes + icrc_bytes;
  const size_t ip_bytes = (is_v4 ? sizeof(Ipv4) : sizeof(Ipv6)) + udp_bytes;
  CW_ASSERT(ip_bytes <= 0xffff && out.size() >= outer_header_bytes(address, start));
  size_t end = start == FrameStart::Ethernet ? encode_link(address, out) : 0;
  end = is_v4 ? encode_ipv4(address, ip_bytes, out, end) : encode_ipv6(address, ip_bytes, out, end);
  end = write_at(out, end, be16(address.source_udp_port));
  end = write_at(out, end, be16(address.target_udp_port));
  end = write_at(out, end, be16(static_cast<uint16_t>(udp_bytes)));
  return write_at(out, end, be16(0));
}

void write_udp_checksum(std::span<uint8_t> ip_packet, std::span<const uint8_t> middle,
                        std::span<const uint8_t> last) {
  const bool is_v4 = ip_packet[0] >> 4 == 4;
  const size_t udp_offset = is_v4 ? size_t{ip_packet[0] & 0x0fu} * 4 : sizeof(Ipv6);
  CW_ASSERT(ip_packet.size() >= udp_offset + sizeof(Udp));
  CW_ASSERT(ip_packet.size() % 2 == 0 && middle.size() % 2 == 0);
  auto udp = read_at<Udp>(ip_packet, udp_offset);
  udp.checksum = be16(0);
  write_at(ip_packet, udp_offset, udp);
  // The pseudo header: both addresses, which end the fixed IP header, the protocol, the length.
  const size_t addresses_offset = is_v4 ? 12 : 8;
  const size_t addresses_bytes = is_v4 ? 8 : 32;
  uint64_t sum = sum_of(udp.bytes, sum_of(be16(protocol_udp), 0));
  sum = sum_of(ip_packet.subspan(addresses_offset, addresses_bytes), sum);
  sum = sum_of(last, sum_of(middle, sum_of(ip_packet.subspan(udp_offset), sum)));
  const be16 checksum = checksum_of(sum);
  udp.checksum = checksum == be16(0) ? be16(0xffff) : checksum;  // zero would say: none
  write_at(ip_packet, udp_offset, udp);
}

std::expected<Frame, WireError> parse_frame(std::span<const uint8_t> bytes, FrameStart start) {
  std::expected<Frame, WireError>
      result;  // filled in place: copying it would cost more than reading
  if (const auto error = read_frame(bytes, start, *result)) result = std::unexpected(*error);
  return result;
}

}  // namespace cw
