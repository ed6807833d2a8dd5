#include "dataplane/gateway/ingress/icmp.h"

#include <algorithm>
#include <cstring>

#include "dataplane/gateway/ingress/addresses.h"
#include "dataplane/gateway/ingress/ip_packet.h"
#include "dataplane/wire/outer/checksum.h"
#include "dataplane/wire/outer/ip_layout.h"

namespace cw::gateway {
namespace {

using namespace ip_layout;
using Bytes = std::span<const uint8_t>;

constexpr uint8_t protocol_icmp = 1, protocol_icmpv6 = 58;
constexpr size_t icmp_header_bytes = 8;
constexpr size_t icmp_bytes_min = 128;  // less would not say what it is about
constexpr size_t v4_bytes_max = 576;    // RFC 1812, 4.3.2.3
constexpr uint32_t v6_mtu_min = 1280;
constexpr uint8_t internetwork_control = 0xc0;
constexpr uint8_t hops = 64;

struct Code {
  uint8_t type, code;
};
constexpr Code v4_codes[] = {{3, 4}, {3, 0}, {11, 0}};
constexpr Code v6_codes[] = {{2, 0}, {1, 0}, {3, 0}};

/// All but queries and their answers; types yet to be invented may be errors.
bool is_error_type(uint8_t type, bool is_v6) {
  if (is_v6) return type < 128 || type == 137;  // 137: redirect
  constexpr uint8_t queries[] = {0, 8, 9, 10, 13, 14, 15, 16, 17, 18};
  return std::ranges::find(queries, type) == std::end(queries);
}

bool may_be_told(const IpPacket& packet, Bytes bytes) {
  if (packet.is_later_fragment || !is_one_host(packet.source, packet.is_v6) ||
      !is_one_host(packet.target, packet.is_v6)) {
    return false;
  }
  // An extension header may hide the ICMP header of a fragment.
  const bool is_plain = packet.protocol == protocol_tcp || packet.protocol == protocol_udp;
  if (packet.is_v6 && packet.is_fragment && !is_plain) return false;
  if (packet.protocol != (packet.is_v6 ? protocol_icmpv6 : protocol_icmp)) return true;
  return packet.header_bytes < packet.bytes &&
         !is_error_type(bytes[packet.header_bytes], packet.is_v6);
}

void write_checksum(std::span<uint8_t> icmp, uint16_t start) {
  store16(&icmp[2], static_cast<uint16_t>(~add_sums(sum_of(icmp), start)));
}

size_t write_v4(Code code, Bytes packet, uint32_t mtu, std::span<uint8_t> out) {
  const size_t quoted =
      std::min(packet.size(), std::min(v4_bytes_max, out.size()) - v4::bytes - icmp_header_bytes);
  const size_t bytes = v4::bytes + icmp_header_bytes + quoted;
  std::ranges::fill(out.first(v4::bytes + icmp_header_bytes), uint8_t{0});
  out[0] = 0x45;
  out[v4::tos] = internetwork_control;
  store16(&out[v4::total_length], bytes);
  store16(&out[v4::fragment], 0x4000);
  out[v4::ttl] = hops;
  out[v4::protocol] = protocol_icmp;
  std::memcpy(&out[v4::addresses], &packet[v4::addresses + 4], 4);
  std::memcpy(&out[v4::addresses + 4], &packet[v4::addresses], 4);
  store16(&out[v4::checksum], static_cast<uint16_t>(~sum_of(out.first(v4::bytes))));
  const std::span<uint8_t> icmp = out.subspan(v4::bytes, icmp_header_bytes + quoted);
  icmp[0] = code.type;
  icmp[1] = code.code;
  store16(&icmp[6], mtu);
  std::memcpy(&icmp[icmp_header_bytes], packet.data(), quoted);
  write_checksum(icmp, 0);
  return bytes;
}

size_t write_v6(Code code, Bytes packet, uint32_t mtu, std::span<uint8_t> out) {
  const size_t quoted =
      std::min(packet.size(), std::min(icmp_bytes_max, out.size()) - v6::bytes - icmp_header_bytes);
  const size_t bytes = v6::bytes + icmp_header_bytes + quoted;
  std::ranges::fill(out.first(v6::bytes + icmp_header_bytes), uint8_t{0});
  store16(&out[0], 0x6000 | internetwork_control << 4);
  store16(&out[v6::payload_length], bytes - v6::bytes);
  out[v6::next_header] = protocol_icmpv6;
  out[7] = hops;
  std::memcpy(&out[v6::addresses], &packet[v6::addresses + 16], 16);
  std::memcpy(&out[v6::addresses + 16], &packet[v6::addresses], 16);
  const std::span<uint8_t> icmp = out.subspan(v6::bytes, icmp_header_bytes + quoted);
  icmp[0] = code.type;
  icmp[1] = code.code;
  store32(&icmp[4], mtu);
  std::memcpy(&icmp[icmp_header_bytes], packet.data(), quoted);
  write_checksum(icmp, pseudo_header_sum(out.subspan(v6::addresses, v6::addresses_bytes),
                                         protocol_icmpv6, icmp.size()));
  return bytes;
}

}  // namespace

size_t IcmpErrors::write(IcmpError error, Bytes packet, uint32_t mtu, std::span<uint8_t> out,
                         Instant now) {
  if (out.size() < icmp_bytes_min) return 0;
  const auto parsed = parse_ip_packet(packet);
  if (!parsed || !may_be_told(*parsed, packet) || !try_take(now)) return 0;
  const auto index = static_cast<size_t>(error);
  const Bytes whole = packet.first(parsed->bytes);
  const bool has_mtu = error == IcmpError::TooBig;
  if (parsed->is_v6) {
    return write_v6(v6_codes[index], whole, has_mtu ? std::max(mtu, v6_mtu_min) : 0, out);
  }
  return write_v4(v4_codes[index], whole, has_mtu ? std::min(mtu, uint32_t{UINT16_MAX}) : 0, out);
}

bool IcmpErrors::try_take(Instant now) {
  next_ = std::max(next_, now - burst_);
  if (next_ + interval_ > now) return false;
  next_ += interval_;
  return true;
}

}  // namespace cw::gateway
