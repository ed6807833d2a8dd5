#include "dataplane/port/udp/udp_icrc.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "dataplane/base/assert.h"
#include "dataplane/wire/opcode.h"
#include "dataplane/wire/outer/frame.h"
#include "dataplane/wire/outer/ip_layout.h"

namespace cw {
namespace {

IpAddress ip_of(const UdpAddress& address) {
  constexpr size_t v4_offset = 12;
  return address.is_v4() ? ipv4_at(address.ip.data() + v4_offset) : ipv6_at(address.ip.data());
}

/// A slot that is full.
size_t common_transport_bytes(uint32_t payload_bytes_max) {
  return opcode_table[opcode_uc_write_only_immediate].header_bytes + payload_bytes_max;
}

}  // namespace

UdpIcrc::UdpIcrc(const Icrc& icrc, Crc32Function crc32, uint32_t payload_bytes_max,
                 const UdpAddress& own, size_t ways)
    : icrc_(icrc),
      crc32_(crc32),
      own_(own),
      is_v4_(own.is_v4()),
      unseen_id_(common_transport_bytes(payload_bytes_max)) {
  if (mode() != IcrcMode::Exact) return;
  outward_.resize(ways);
  inward_.resize(ways);
}

uint32_t UdpIcrc::of(const UdpWay& way, size_t place, std::span<const uint8_t> headers,
                     std::span<const uint8_t> payload) {
  uint32_t start;
  if (mode() == IcrcMode::Exact) {
    const size_t bytes = headers.size() + payload.size() + pad_bytes_for(payload.size());
    const Ends ends = {&own_, &way.far, way.own_udp_port, way.far.udp_port};
    start = start_of(outward_, way.number, ends, bytes);
    if (is_v4_) start ^= change_by_id(place);
  } else {
    start = icrc_.start({});
  }
  if (payload.empty()) return icrc_.finish(start, headers);
  if (mode() == IcrcMode::None) return 0;
  return icrc_.finish(start, headers,
                      {.crc = crc32_(0, payload.data(), payload.size()), .bytes = payload.size()});
}

bool UdpIcrc::is_right(const UdpWay& way, std::span<const uint8_t> datagram) {
  if (mode() != IcrcMode::Exact) return icrc_.is_right({}, datagram);
  if (datagram.size() < sizeof(Bth) + icrc_bytes) return false;
  const auto transport = datagram.first(datagram.size() - icrc_bytes);
  const Ends ends = {&way.far, &own_, way.far.udp_port, way.own_udp_port};
  const uint32_t start = start_of(inward_, way.number, ends, transport.size());
  const uint32_t difference =
      icrc_.finish(start, transport) ^ Icrc::read(datagram.last<icrc_bytes>());
  return is_v4_ ? unseen_id_.explains(difference, transport.size()) : difference == 0;
}

void UdpIcrc::forget() {
  std::ranges::fill(outward_, Start());
  std::ranges::fill(inward_, Start());
}

uint32_t UdpIcrc::start_of(std::vector<Start>& known, size_t number, const Ends& ends,
                           size_t transport_bytes) const {
  if (number == UdpWay::no_number) return make_start(ends, transport_bytes);
  Start& last = known[number];
  if (last.transport_bytes != transport_bytes) {
    last = {static_cast<uint32_t>(transport_bytes), make_start(ends, transport_bytes)};
  }
  return last.start;
}

/// As the kernel writes them. What it may choose otherwise is not covered: class, hops, checksums.
uint32_t UdpIcrc::make_start(const Ends& ends, size_t transport_bytes) const {
  FrameAddress address;
  address.ip_version = is_v4_ ? IpVersion::V4 : IpVersion::V6;
  address.source_ip = ip_of(*ends.from);
  address.target_ip = ip_of(*ends.to);
  address.source_udp_port = ends.from_udp_port;
  address.target_udp_port = ends.to_udp_port;
  std::array<uint8_t, ip_layout::v6::bytes + ip_layout::udp::bytes> headers;
  const size_t bytes = encode_outer_headers(address, FrameStart::Ip, transport_bytes, headers);
  return icrc_.start(std::span(headers).first(bytes));
}

}  // namespace cw
