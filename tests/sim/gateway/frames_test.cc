// Frames of every form and size.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "dataplane/gateway/ingress/ip_packet.h"
#include "tests/sim/gateway/two_sites.h"
#include "tests/sim/tally_port.h"

namespace cw::sim {
namespace {
using gateway::PacketKind;

// ---- What becomes of the bits that routers change: hops, DSCP, ECN, on both sides of a WAN ----

constexpr Duration one_way = Duration::from_ms(10);

/// A WAN that marks what it may mark, or, not to be trusted, all.
class MarkingPort final : public PortAround {
 public:
  MarkingPort(Port& inner, bool marks_all) : PortAround(inner), marks_all_(marks_all) {}
  size_t rx_burst(std::span<Packet*> out, Instant now) override {
    const size_t count = PortAround::rx_burst(out, now);
    for (Packet* packet : out.first(count)) {
      if (marks_all_ || packet->ecn != gateway::ecn_not_capable) packet->ecn = gateway::ecn_ce;
    }
    return count;
  }

 private:
  bool marks_all_;
};

TwoSitesOptions marked(uint64_t seed, bool marks_all) {
  TwoSitesOptions options{.seed = seed};
  options.wan_around = [marks_all](int, Port& inner) {
    return std::make_unique<MarkingPort>(inner, marks_all);
  };
  return options;
}

class GatewayHops : public testing::TestWithParam<bool> {};

TEST_P(GatewayHops, are_one_per_gateway_and_the_last_is_told) {
  const bool is_v6 = GetParam();
  TwoSites sites({.seed = 41});
  ASSERT_TRUE(sites.come_up());
  for (uint8_t ttl = 1; ttl <= 5; ++ttl) {
    sites.host(1).add_flow({.number = ttl,
                            .bytes = 300,
                            .packets = 5,
                            .begin = sites.now(),
                            .ttl = ttl,
                            .is_v6 = is_v6});
  }
  sites.run_for(Duration::from_ms(500));
  // One hop left does not pass the first gateway, two do not pass the second.
  for (const uint16_t ttl : {1, 2}) EXPECT_EQ(sites.host(2).report(ttl).received, 0u) << ttl;
  for (const uint16_t ttl : {3, 4, 5}) {
    const FlowReport& report = sites.host(2).report(ttl);
    EXPECT_EQ(report.received, 5u);
    EXPECT_EQ(report.wrong, 0u);
    EXPECT_EQ(report.ttl_min, ttl - 2);
    EXPECT_EQ(report.ttl_max, ttl - 2);
  }
  for (const int site : {1, 2}) {
    EXPECT_EQ(sites.gateway(site).drops().read_any_thread(DropReason::ttl_expired), 5u);
  }
  ASSERT_EQ(sites.host(1).foreign().size(), 5u);
  for (const auto& reply : sites.host(1).foreign()) {
    const auto parsed = gateway::parse_ip_packet(reply);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->kind, PacketKind::Icmp);
    EXPECT_EQ(reply[parsed->header_bytes], is_v6 ? 3 : 11);
    EXPECT_EQ(reply[parsed->header_bytes + 1], 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Over, GatewayHops, testing::Bool(),
                         [](const auto& each) { return each.param ? "ipv6" : "ipv4"; });

/// A flow for each ECN and IP version, far enough apart that no two share a slot.
void send_each_ecn(TwoSites& sites) {
  for (const bool is_v6 : {false, true}) {
    for (uint8_t ecn = 0; ecn < 4; ++ecn) {
      sites.host(1).add_flow({.number = static_cast<uint16_t>(1 + ecn + (is_v6 ? 4 : 0)),
                              .bytes = 500,
                              .rate = Rate::from_mbps(1),
                              .packets = 50,
                              .begin = sites.now() + Duration::from_us(100 * ecn + 50 * is_v6),
                              .dscp = static_cast<uint8_t>(10 + ecn),
                              .ecn = ecn,
                              .is_v6 = is_v6});
    }
  }
  sites.run_for(Duration::from_s(1));
}

struct Seen {
  uint64_t ecn[4];
};

void expect_each_ecn(TwoSites& sites, const Seen (&expected)[4]) {
  for (uint16_t number = 1; number <= 8; ++number) {
    SCOPED_TRACE(number);
    const FlowReport& report = sites.host(2).report(number);
    const Seen& seen = expected[(number - 1) % 4];
    for (int ecn = 0; ecn < 4; ++ecn) EXPECT_EQ(report.ecn[ecn], seen.ecn[ecn]) << ecn;
    EXPECT_EQ(report.wrong, 0u);
    EXPECT_EQ(report.dscp_min, 10 + (number - 1) % 4);
    EXPECT_EQ(report.dscp_max, 10 + (number - 1) % 4);
  }
}

TEST(GatewayEcn, crosses_a_calm_wan_unchanged) {
  TwoSites sites({.seed = 43});
  ASSERT_TRUE(sites.come_up());
  send_each_ecn(sites);
  expect_each_ecn(sites, {{50, 0, 0, 0}, {0, 50, 0, 0}, {0, 0, 50, 0}, {0, 0, 0, 50}});
  EXPECT_EQ(sites.gateway(2).counters().read_any_thread(Counter::marks_lost), 0u);
}

TEST(GatewayEcn, a_mark_of_the_wan_reaches_those_who_understand) {
  TwoSites sites(marked(47, false));
  ASSERT_TRUE(sites.come_up());
  send_each_ecn(sites);
  expect_each_ecn(sites, {{50, 0, 0, 0}, {0, 0, 0, 50}, {0, 0, 0, 50}, {0, 0, 0, 50}});
  EXPECT_EQ(sites.gateway(2).counters().read_any_thread(Counter::marks_lost), 0u);
  EXPECT_EQ(sites.gateway(2).counters().read_any_thread(Counter::frames_marked), 200u);
}

TEST(GatewayEcn, a_mark_on_what_is_not_capable_changes_nothing_and_is_counted) {
  TwoSites sites(marked(53, true));
  ASSERT_TRUE(sites.come_up());
  send_each_ecn(sites);
  expect_each_ecn(sites, {{50, 0, 0, 0}, {0, 0, 0, 50}, {0, 0, 0, 50}, {0, 0, 0, 50}});
  EXPECT_EQ(sites.gateway(2).counters().read_any_thread(Counter::marks_lost), 100u);
}

// Twice the link's rate for a second: those who wait are told, then what comes is refused, and
// nobody ever waits long.
TEST(GatewayQueue, is_told_early_and_bounded_in_time) {
  constexpr Duration queue = Duration::from_ms(40);
  TwoSitesOptions options{.seed = 59, .rate = Rate::from_mbps(50)};
  options.classes = {{.name = "all", .queue = queue}};
  TwoSites sites(options);
  ASSERT_TRUE(sites.come_up());
  sites.run_for(one_way * 4);
  for (const uint8_t ecn : {0, 2}) {
    sites.host(1).add_flow({.number = static_cast<uint16_t>(1 + ecn),
                            .rate = Rate::from_mbps(48 + 2 * ecn),  // never in step
                            .packets = 6250,
                            .begin = sites.now(),
                            .ecn = ecn});
  }
  sites.run_for(Duration::from_s(3));
  const Drops& drops = sites.gateway(1).drops();
  const uint64_t full = drops.read_any_thread(DropReason::wan_queue_full);
  const uint64_t early = drops.read_any_thread(DropReason::wan_queue_codel);
  EXPECT_GT(full, 3000u) << "neither slows down";
  EXPECT_GT(early, 0u);
  EXPECT_EQ(sites.gateway(1).counters().read_any_thread(Counter::lan_in),
            sites.gateway(1).counters().read_any_thread(Counter::lan_sent) + full + early);
  const FlowReport& deaf = sites.host(2).report(1);
  const FlowReport& capable = sites.host(2).report(3);
  EXPECT_EQ(deaf.marked, 0u);
  EXPECT_GT(capable.marked, 0u);
  EXPECT_LT(capable.marked, capable.received);
  EXPECT_EQ(sites.gateway(1).counters().read_any_thread(Counter::lan_marked), capable.marked);
  for (const FlowReport* report : {&deaf, &capable}) {
    EXPECT_LT(report->delay_max, one_way + queue + Duration::from_ms(3));
    EXPECT_GT(report->delay_max, one_way + queue / 2);
    EXPECT_EQ(report->wrong + report->doubled, 0u);
  }
}

// ---- sizes ----
// Frames and slots of every size, both versions of IP, many flows, and frames that are too big.

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
