#include "dataplane/port/frame/flow.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

#include "tests/property/property.h"

namespace cw::test {
namespace {
using Bytes = std::vector<uint8_t>;

constexpr uint8_t udp = 17, tcp = 6, icmp = 1;

Bytes ipv4(uint8_t protocol, uint8_t last, uint16_t port, uint16_t fragment = 0) {
  Bytes ip(28);
  ip[0] = 0x45;
  ip[6] = static_cast<uint8_t>(fragment >> 8), ip[7] = static_cast<uint8_t>(fragment);
  ip[9] = protocol;
  ip[12] = 10, ip[15] = 1, ip[16] = 10, ip[19] = last;
  ip[20] = static_cast<uint8_t>(port >> 8), ip[21] = static_cast<uint8_t>(port);
  return ip;
}

Bytes ipv6(uint8_t next, uint8_t last, uint16_t port) {
  Bytes ip(48);
  ip[0] = 0x60;
  ip[6] = next;
  ip[8] = 0xfd, ip[24] = 0xfd, ip[39] = last;
  ip[40] = static_cast<uint8_t>(port >> 8), ip[41] = static_cast<uint8_t>(port);
  return ip;
}

TEST(Flow, is_told_by_addresses_protocol_and_ports) {
  const std::vector<Bytes> all = {ipv4(udp, 1, 1), ipv4(udp, 2, 1),  ipv4(udp, 1, 2),
                                  ipv4(tcp, 1, 1), ipv4(icmp, 1, 1), ipv6(udp, 1, 1),
                                  ipv6(udp, 2, 1), ipv6(udp, 1, 2),  ipv6(tcp, 1, 1)};
  std::set<uint32_t> flows;
  for (const Bytes& ip : all) flows.insert(flow_of(ip).value());
  EXPECT_EQ(flows.size(), all.size());
}

// Of what is in one flow and differs, nothing is read.
TEST(Flow, of_a_packet_s_pieces_is_one) {
  const auto first = flow_of(ipv4(udp, 1, 1, 0x2000)), last = flow_of(ipv4(udp, 1, 9, 0x00b9));
  EXPECT_EQ(first, last);
  EXPECT_EQ(flow_of(ipv4(icmp, 1, 1)), flow_of(ipv4(icmp, 1, 2)));
  Bytes marked = ipv4(udp, 1, 1);
  marked[1] = 0xba, marked[4] = 7, marked[8] = 3, marked[24] = 9;  // DSCP, id, TTL, length of UDP
  EXPECT_EQ(flow_of(marked), flow_of(ipv4(udp, 1, 1)));
}

TEST(Flow, spreads_over_few_shards_alike) {
  for (const uint32_t shards : {2u, 3u, 4u, 16u}) {
    std::array<uint32_t, 16> of_shard{};
    for (uint16_t port = 0; port < 1600; ++port) {
      ++of_shard[*flow_of(ipv4(udp, 1, port)) % shards];
      ++of_shard[*flow_of(ipv6(tcp, static_cast<uint8_t>(port % 16), port)) % shards];
    }
    for (uint32_t i = 0; i < shards; ++i) {
      EXPECT_GT(of_shard[i], 3200 / shards * 3 / 4) << shards;
      EXPECT_LT(of_shard[i], 3200 / shards * 4 / 3) << shards;
    }
  }
}

RC_GTEST_PROP(Flow, of_any_bytes_is_read_within_them, (const Bytes& any)) {
  const std::vector<uint8_t> exact(any);
  (void)flow_of(exact);
}

}  // namespace
}  // namespace cw::test
