#include "dataplane/neighbour/echo.h"

#include <algorithm>

#include "dataplane/wire/outer/checksum.h"
#include "dataplane/wire/outer/ip_layout.h"

namespace cw {
namespace {

using namespace ip_layout;

constexpr size_t icmp_bytes = 8, checksum_offset = 2;
constexpr uint8_t protocol_icmp = 1, protocol_icmpv6 = 58;
constexpr uint8_t request_v4 = 8, answer_v4 = 0, request_v6 = 128, answer_v6 = 129;
constexpr uint8_t hop_limit = 64;
constexpr uint16_t more_or_offset = 0x3fff;

/// Another type, and a checksum that has seen only that change (RFC 1624).
void change_type(std::span<uint8_t> icmp, uint8_t type) {
  const auto sum = static_cast<uint16_t>(~load<be16>(&icmp[checksum_offset]));
  const auto before = static_cast<uint16_t>(icmp[0] << 8), after = static_cast<uint16_t>(type << 8);
  icmp[0] = type;
  store16(&icmp[checksum_offset],
          static_cast<uint16_t>(~add_sums(subtract_sum(sum, before), after)));
}

void swap_addresses(std::span<uint8_t> both) {
  const size_t half = both.size() / 2;
  std::swap_ranges(both.begin(), both.begin() + static_cast<ptrdiff_t>(half),
                   both.begin() + static_cast<ptrdiff_t>(half));
}

bool try_answer_v4(std::span<uint8_t> packet) {
  if (packet.size() < v4::bytes + icmp_bytes || packet[0] != 0x45) return false;
  const auto icmp = packet.subspan(v4::bytes);
  if (packet[v4::protocol] != protocol_icmp ||
      (load<be16>(&packet[v4::fragment]) & more_or_offset) != 0 || icmp[0] != request_v4 ||
      icmp[1] != 0) {
    return false;
  }
  swap_addresses(packet.subspan(v4::addresses, v4::addresses_bytes));
  packet[v4::ttl] = hop_limit;
  store16(&packet[v4::checksum], 0);
  store16(&packet[v4::checksum], static_cast<uint16_t>(~sum_of(packet.first(v4::bytes))));
  change_type(icmp, answer_v4);
  return true;
}

bool try_answer_v6(std::span<uint8_t> packet) {
  if (packet.size() < v6::bytes + icmp_bytes) return false;
  const auto icmp = packet.subspan(v6::bytes);
  if (packet[v6::next_header] != protocol_icmpv6 || icmp[0] != request_v6 || icmp[1] != 0) {
    return false;
  }
  swap_addresses(packet.subspan(v6::addresses, v6::addresses_bytes));
  packet[v6::next_header + 1] = hop_limit;
  change_type(icmp, answer_v6);
  return true;
}

}  // namespace

bool try_answer_echo(std::span<uint8_t> packet) {
  if (packet.empty()) return false;
  if (packet[0] >> 4 == 4) return try_answer_v4(packet);
  return packet[0] >> 4 == 6 && try_answer_v6(packet);
}

}  // namespace cw
