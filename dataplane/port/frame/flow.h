// Which flow of hosts an IP packet is of: what all packets of one have in common, and no other's,
// but for chance.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "dataplane/wire/outer/ip_layout.h"

namespace cw {

/// A hash of addresses, protocol, and the ports of TCP, UDP and SCTP, as a TUN device's queues are
/// chosen (tun_steering.h); of fragments no ports are read, not even the first one's. Nothing: less
/// than an IP header. Not keyed: who sends what lands on one shard can do so anyway.
inline std::optional<uint32_t> flow_of(std::span<const uint8_t> ip) {
  using namespace ip_layout;
  constexpr uint8_t protocol_sctp = 132;
  constexpr uint64_t multiplier = 0xff51afd7ed558ccd;  // odd, half of its bits set
  uint64_t hash = 0x9e3779b97f4a7c15;
  const auto add = [&](uint64_t word) {
    hash = (hash ^ word) * multiplier;
    hash ^= hash >> 32;
  };
  const auto add_ends = [&](uint8_t protocol, size_t header_bytes, bool is_fragment) {
    add(protocol);
    const bool has_ports =
        protocol == protocol_tcp || protocol == protocol_udp || protocol == protocol_sctp;
    if (has_ports && !is_fragment && ip.size() >= header_bytes + 4) {
      add(read_at<uint32_t>(&ip[header_bytes]));
    }
    return static_cast<uint32_t>(hash * multiplier >> 32);
  };
  if (ip.size() >= v4::bytes && ip[0] >> 4 == 4) {
    add(read_at<uint64_t>(&ip[v4::addresses]));
    // More to come, or an offset.
    const bool is_fragment = (load<be16>(&ip[v4::fragment]) & 0x3fff) != 0;
    return add_ends(ip[v4::protocol], (ip[0] & 0xfu) * 4u, is_fragment);
  }
  if (ip.size() >= v6::bytes && ip[0] >> 4 == 6) {
    for (size_t i = 0; i < 4; ++i) add(read_at<uint64_t>(&ip[v6::addresses + 8 * i]));
    return add_ends(ip[v6::next_header], v6::bytes, false);  // a fragment has a header of its own
  }
  return std::nullopt;
}

}  // namespace cw
