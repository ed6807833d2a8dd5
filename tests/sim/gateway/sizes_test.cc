// Frames and slots of every size, both versions of IP, many flows, and frames that are too big.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "dataplane/gateway/ip_packet.h"
#include "tests/sim/gateway/two_sites.h"

namespace cw::sim {
namespace {

using gateway::PacketKind;

constexpr Impairment lossy{.loss = 0.01, .delay = Duration::from_ms(10)};

uint64_t drops(TwoSites& sites, int site, DropReason reason) {
  return sites.gateway(site).drops().read_any_thread(reason);
}

using Sizes = std::tuple<uint32_t, uint32_t>;  // MTU, slot

class GatewaySizes : public testing::TestWithParam<Sizes> {};

TEST_P(GatewaySizes, carry_frames_of_both_versions_whole) {
  const auto [mtu, slot] = GetParam();
  TwoSitesOptions options{.seed = 100 + mtu + slot, .wan = lossy, .payload_bytes = slot};
  options.lan_mtu = mtu;
  options.message_slots = slot >= 4096 ? 64 : 512;
  TwoSites sites(options);
  ASSERT_TRUE(sites.come_up());
  const uint32_t sizes[] = {104, slot - 16, slot, mtu - 1, mtu};
  uint16_t number = 0;
  for (const bool is_v6 : {false, true}) {
    for (const uint32_t bytes : sizes) {
      for (const auto kind : {PacketKind::Udp, PacketKind::Tcp}) {
        sites.host(1).add_flow({.kind = kind,
                                .number = ++number,
                                .bytes = std::min(bytes, mtu),
                                .rate = Rate::from_mbps(4),
                                .packets = 150,
                                .begin = sites.now(),
                                .is_v6 = is_v6});
      }
    }
  }
  sites.run_for(Duration::from_s(5));
  for (uint16_t each = 1; each <= number; ++each) {
    SCOPED_TRACE(each);
    const FlowReport& report = sites.host(2).report(each);
    EXPECT_EQ(report.received, 150u);
    EXPECT_EQ(report.wrong + report.doubled, 0u);
    if (each % 2 == 0) {  // TCP
      EXPECT_EQ(report.overtaken, 0u);
    }
  }
  EXPECT_EQ(sites.host(2).foreign_count(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Of, GatewaySizes,
                         testing::Combine(testing::Values(1280, 1500, 9000),
                                          testing::Values(256, 1024, 1408, 4096, 8192)),
                         [](const auto& each) {
                           return "mtu_" + std::to_string(std::get<0>(each.param)) + "_slot_" +
                                  std::to_string(std::get<1>(each.param));
                         });

// 2,000 flows in 65,536 buckets: about thirty of them share one with another.
TEST(GatewayFlows, two_thousand_keep_their_order_each) {
  // Every frame comes in a turn of its own and takes a slot of its own: slots, not bytes, are what
  // must last for as long as a message lives.
  TwoSites sites(
      {.seed = 31, .wan = {.loss = 0.02, .delay = Duration::from_ms(10)}, .messages = 64});
  ASSERT_TRUE(sites.come_up());
  for (uint16_t number = 1; number <= 2000; ++number) {
    sites.host(1).add_flow({.kind = number % 2 != 0 ? PacketKind::Tcp : PacketKind::RoceRc,
                            .number = number,
                            .bytes = 200,
                            .rate = Rate::from_bps(100'000),
                            .packets = 20,
                            .begin = sites.now() + Duration::from_us(5) * number});
  }
  sites.run_for(Duration::from_s(2));
  uint64_t missing = 0;
  for (uint16_t number = 1; number <= 2000; ++number) {
    const FlowReport& report = sites.host(2).report(number);
    missing += 20 - report.received;
    ASSERT_EQ(report.wrong + report.doubled + report.overtaken, 0u) << number;
  }
  EXPECT_EQ(missing, 0u);
  EXPECT_GT(sites.gateway(1).counters().read_any_thread(Counter::resends_sent), 0u);
}

class TooBig : public testing::TestWithParam<bool> {};

TEST_P(TooBig, is_what_the_sender_hears_and_nothing_crosses) {
  const bool is_v6 = GetParam();
  TwoSitesOptions options{.seed = 37};
  options.lan_mtu = 1280;
  TwoSites sites(options);
  ASSERT_TRUE(sites.come_up());
  const FlowOptions flow{.bytes = 1281, .packets = 10, .begin = sites.now(), .is_v6 = is_v6};
  sites.host(1).add_flow(flow);
  sites.run_for(Duration::from_ms(200));
  EXPECT_EQ(sites.host(2).received_count(), 0u);
  EXPECT_EQ(drops(sites, 1, DropReason::lan_too_big), 10u);
  EXPECT_EQ(sites.gateway(1).counters().read_any_thread(Counter::icmp_sent), 10u);
  ASSERT_EQ(sites.host(1).foreign().size(), 10u);
  for (const auto& reply : sites.host(1).foreign()) {
    const auto parsed = gateway::parse_ip_packet(reply);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->kind, PacketKind::Icmp);
    EXPECT_EQ(parsed->bytes, reply.size());
    const uint8_t* icmp = reply.data() + parsed->header_bytes;
    EXPECT_EQ(icmp[0], is_v6 ? 2 : 3);
    EXPECT_EQ(icmp[1], is_v6 ? 0 : 4);
    EXPECT_EQ(icmp[6] << 8 | icmp[7], 1280);
    // It quotes the packet as the host sent it.
    std::vector<uint8_t> sent(200);
    write_headers(flow, 0, sent.data());
    const size_t addresses_end = is_v6 ? 40 : 20;
    if (is_v6) {
      EXPECT_TRUE(std::equal(sent.begin(), sent.begin() + 40, icmp + 8));
    } else {
      EXPECT_TRUE(std::equal(sent.begin() + 12, sent.begin() + 20, icmp + 8 + 12));
      EXPECT_EQ(icmp[8 + 8], 64);  // no hop taken off
    }
    EXPECT_TRUE(std::equal(sent.begin() + static_cast<ptrdiff_t>(addresses_end),
                           sent.begin() + static_cast<ptrdiff_t>(addresses_end) + 8,
                           icmp + 8 + addresses_end));
  }
}

INSTANTIATE_TEST_SUITE_P(Over, TooBig, testing::Bool(),
                         [](const auto& each) { return each.param ? "ipv6" : "ipv4"; });

}  // namespace
}  // namespace cw::sim
