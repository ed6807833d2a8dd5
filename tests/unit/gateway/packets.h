// Packets of hosts, made byte by byte and without the code under test.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dataplane/base/prng.h"
#include "dataplane/gateway/options.h"

namespace cw::gateway::test {

using ByteVector = std::vector<uint8_t>;
using Address = std::array<uint8_t, 16>;

inline constexpr uint8_t tcp = 6, udp = 17, icmp = 1, icmpv6 = 58;

struct Shape {
  bool is_v6 = false;
  Address source{10, 1, 0, 1}, target{10, 2, 0, 1};
  uint8_t protocol = udp;
  uint8_t dscp = 0, ecn = 0, ttl = 64;
  ByteVector payload = ByteVector(20);  ///< behind the IP header and all extensions
  uint8_t option_words = 0;             ///< IPv4
  std::vector<uint8_t> extensions{};    ///< IPv6: types of the headers, in order
  uint16_t fragment_offset = 0;         ///< in units of eight bytes
  bool more_fragments = false;
  size_t padding = 0;  ///< of the link, behind the packet
};
ByteVector make_packet(const Shape& shape);

/// IPv6: the first groups, zeros, and the last group.
Address v4(uint8_t a, uint8_t b, uint8_t c, uint8_t d);
Address v6(std::vector<uint16_t> first_groups, uint16_t last = 0);
Prefix prefix(const Address& address, uint8_t bits, bool is_v6 = false);

/// The payload of a UDP or TCP packet, `bytes` in all.
ByteVector ports(uint16_t source, uint16_t target, size_t bytes = 20);
/// A UDP datagram with a BTH and `more` bytes behind it.
ByteVector roce(uint8_t opcode, uint32_t qp, uint16_t source_port = 0xc000, size_t more = 4);

/// A shape of which every field is drawn.
Shape any_shape(Prng& prng, size_t payload_max = 200);

/// The one's complement sum in the plainest way.
uint16_t plain_sum(std::span<const uint8_t> bytes, uint32_t start = 0);

}  // namespace cw::gateway::test
