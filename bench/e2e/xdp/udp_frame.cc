#include "bench/e2e/xdp/udp_frame.h"

#include <arpa/inet.h>
#include <net/ethernet.h>
#include <netinet/ether.h>

#include <algorithm>
#include <cstring>

namespace cw::bench {
namespace {

constexpr size_t ip_at = 14, ip_bytes = 20, udp_at = ip_at + ip_bytes, udp_bytes = 8;

void put16(std::vector<uint8_t>& bytes, size_t at, size_t value) {
  bytes[at] = static_cast<uint8_t>(value >> 8);
  bytes[at + 1] = static_cast<uint8_t>(value);
}

uint16_t header_sum(const uint8_t* header) {
  uint32_t sum = 0;
  for (size_t at = 0; at < ip_bytes; at += 2) sum += uint32_t{header[at]} << 8 | header[at + 1];
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

}  // namespace

std::vector<uint8_t> UdpFrame::text() const {
  std::vector<uint8_t> out(bytes, 0x29);
  std::memcpy(&out[0], ether_aton(target_mac), ETH_ALEN);
  std::memcpy(&out[ETH_ALEN], ether_aton(source_mac), ETH_ALEN);
  put16(out, 2 * ETH_ALEN, ETHERTYPE_IP);
  std::fill_n(&out[ip_at], ip_bytes + udp_bytes, uint8_t{0});
  out[ip_at] = 0x45, out[ip_at + 8] = 64, out[ip_at + 9] = IPPROTO_UDP;
  put16(out, ip_at + 2, bytes - ip_at);
  inet_pton(AF_INET, source, &out[ip_at + 12]);
  inet_pton(AF_INET, target, &out[ip_at + 16]);
  put16(out, ip_at + 10, header_sum(&out[ip_at]));
  put16(out, udp_at, source_udp_port);
  put16(out, udp_at + 2, target_udp_port);
  put16(out, udp_at + 4, bytes - udp_at);
  std::ranges::copy(payload, &out[udp_at + udp_bytes]);
  return out;
}

}  // namespace cw::bench
