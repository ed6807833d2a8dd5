// The plain packet, which nearly every packet is: no options, no extension headers, no fragment,
// and long enough for the headers behind IP to be whole. All that decides where it goes then lies
// at fixed places, and is put together here, word by word: its name. Packets of one name have one
// peer, class, bucket and order.
//
//   name   | version, DSCP, protocol, both ports | RoCE: opcode, version, QP | addresses ...
//
// What differs from packet to packet within a name is asked of each: its length, its checksum, its
// hops, ECN.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "dataplane/gateway/ingress/ip_packet.h"
#include "dataplane/wire/outer/checksum.h"
#include "dataplane/wire/outer/ip_layout.h"
#include "dataplane/wire/roce.h"

namespace cw::gateway {
namespace plain {

/// What of a BTH counts.
inline constexpr auto bth_mask = std::bit_cast<uint64_t>(
    std::array<uint8_t, 8>{0xff, Bth::version_mask, 0, 0, 0, 0xff, 0xff, 0xff});

/// The first two words of a name. `upper` is where `protocol` begins.
inline std::array<uint64_t, 2> words_of(uint8_t version, uint8_t dscp, uint8_t protocol,
                                        const uint8_t* upper) {
  using namespace ip_layout;
  const uint64_t ip = uint64_t{version} << 56 | uint64_t{dscp} << 48 | uint64_t{protocol} << 40;
  const bool is_udp = protocol == protocol_udp;
  if (!is_udp && protocol != protocol_tcp) return {ip, 0};
  const uint64_t ip_and_ports = ip | read_at<uint32_t>(upper);
  const bool may_be_roce = is_udp && load<be16>(upper + 2) == roce_udp_port;
  return {ip_and_ports, may_be_roce ? read_at<uint64_t>(upper + udp::bytes) & bth_mask : 0};
}

/// Behind IP: a TCP header, or those of UDP and RoCE.
inline constexpr size_t upper_bytes = 20;
static_assert(upper_bytes == ip_layout::tcp::bytes &&
              upper_bytes == ip_layout::udp::bytes + sizeof(Bth));

}  // namespace plain

/// `at` holds bytes_min.
struct PlainV4 {
  static constexpr uint8_t version = 4;
  static constexpr size_t bytes_min = ip_layout::v4::bytes + plain::upper_bytes;
  using Name = std::array<uint64_t, 3>;

  const uint8_t* at;

  bool is_plain() const {
    constexpr uint16_t fragment_bits = 0x3fff;  // more of them, and the offset
    const uint16_t fragment = ip_layout::load<be16>(at + ip_layout::v4::fragment);
    return at[0] == 0x45 && (fragment & fragment_bits) == 0 && bytes() >= bytes_min;
  }
  Name name() const {
    using namespace ip_layout;
    const auto words = plain::words_of(version, dscp(), at[v4::protocol], at + v4::bytes);
    return {words[0], words[1], read_at<uint64_t>(at + v4::addresses)};
  }
  size_t bytes() const { return ip_layout::load<be16>(at + ip_layout::v4::total_length); }
  uint8_t ecn() const { return at[ip_layout::v4::tos] & 3; }
  uint8_t dscp() const { return at[ip_layout::v4::tos] >> 2; }
  bool is_sound() const { return is_ipv4_header_sound(at); }
};

/// `at` holds bytes_min.
struct PlainV6 {
  static constexpr uint8_t version = 6;
  static constexpr size_t bytes_min = ip_layout::v6::bytes + plain::upper_bytes;
  using Name = std::array<uint64_t, 6>;

  const uint8_t* at;

  bool is_plain() const {
    return !is_ipv6_extension(at[ip_layout::v6::next_header]) && bytes() >= bytes_min;
  }
  Name name() const {
    using namespace ip_layout;
    const auto words = plain::words_of(version, dscp(), at[v6::next_header], at + v6::bytes);
    const auto address = [this](size_t i) { return read_at<uint64_t>(at + v6::addresses + 8 * i); };
    return {words[0], words[1], address(0), address(1), address(2), address(3)};
  }
  size_t bytes() const {
    return ip_layout::v6::bytes + ip_layout::load<be16>(at + ip_layout::v6::payload_length);
  }
  uint8_t ecn() const { return at[1] >> 4 & 3; }
  uint8_t dscp() const { return static_cast<uint8_t>((at[0] << 2 | at[1] >> 6) & 0x3f); }
  static constexpr bool is_sound() { return true; }
};

}  // namespace cw::gateway
