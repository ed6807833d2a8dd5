// What hosts see when a gateway dies, the wire goes black, or the line is narrower than promised.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/sim/gateway/two_sites.h"

namespace cw::sim {
namespace {

using gateway::PacketKind;

constexpr Duration one_way = Duration::from_ms(10);
constexpr Duration rtt = one_way * 2;
const Impairment calm{.delay = one_way};

/// Datagrams at a steady pace for `time`, and a flow that keeps its order beside them.
void send_both(TwoSites& sites, Duration time) {
  uint16_t number = 0;
  for (const auto kind : {PacketKind::Udp, PacketKind::RoceRc}) {
    FlowOptions options;
    options.kind = kind;
    options.number = ++number;
    options.bytes = 500;
    options.rate = Rate::from_mbps(8);
    options.begin = sites.now();
    options.packets = static_cast<uint64_t>(time.ns() / 500'000);
    sites.host(1).add_flow(options);
  }
}

/// When the first packet of a flow came that was sent at or after `then`.
Instant first_since(const FlowReport& report, Instant began, Instant then) {
  for (size_t i = 0; i < report.seen.size(); ++i) {
    const Instant sent = began + Duration::from_us(500) * static_cast<int64_t>(i);
    if (report.seen[i] && sent >= then) return sent;
  }
  return Instant::never();
}

void expect_sound(const FlowReport& report) {
  EXPECT_EQ(report.wrong, 0u);
  EXPECT_EQ(report.doubled, 0u);
}

class GatewayRestart : public testing::TestWithParam<int> {};

TEST_P(GatewayRestart, traffic_flows_again_within_a_second_and_nothing_old_is_released) {
  TwoSites sites({.seed = 11, .wan = {.loss = 0.01, .delay = one_way}});
  ASSERT_TRUE(sites.come_up());
  const Instant began = sites.now();
  send_both(sites, Duration::from_s(5));
  sites.run_for(Duration::from_s(2));
  const Instant killed = sites.now();
  sites.restart(GetParam());
  sites.run_for(Duration::from_s(5));
  for (const uint16_t flow : {1, 2}) {
    SCOPED_TRACE(flow);
    const FlowReport& report = sites.host(2).report(flow);
    expect_sound(report);
    EXPECT_LE(first_since(report, began, killed), killed + Duration::from_s(1) + rtt);
    EXPECT_GT(report.received, 7000u);  // of 10,000, at most a second of them missing
    // What had been sent before the kill either arrived in its time or never.
    EXPECT_LT(report.delay_max, Duration::from_ms(250) + rtt);
  }
  EXPECT_EQ(sites.host(2).report(2).overtaken, 0u);
}

INSTANTIATE_TEST_SUITE_P(Of, GatewayRestart, testing::Values(1, 2),
                         [](const auto& each) { return "site_" + std::to_string(each.param); });

TEST(GatewayRestart, a_hundred_of_them_leave_nothing_behind) {
  TwoSites sites({.seed = 13, .wan = {.loss = 0.02, .delay = one_way}});
  ASSERT_TRUE(sites.come_up());
  send_both(sites, Duration::from_s(30));
  for (int i = 0; i < 100; ++i) {
    sites.run_for(Duration::from_ms(37 + i * 3));
    sites.restart(1 + i % 2);
  }
  sites.run_for(Duration::from_s(12));
  for (const uint16_t flow : {1, 2}) {
    const FlowReport& report = sites.host(2).report(flow);
    expect_sound(report);
    EXPECT_GT(report.next, 59'900u);  // it flows to the end
  }
  EXPECT_EQ(sites.host(2).report(2).overtaken, 0u);
}

class GatewayBlackout : public testing::TestWithParam<int> {};

TEST_P(GatewayBlackout, is_over_within_a_second_of_the_wires_return) {
  TwoSites sites({.seed = 17, .wan = calm});
  ASSERT_TRUE(sites.come_up());
  const Instant began = sites.now();
  const Duration length = Duration::from_ms(GetParam());
  send_both(sites, length + Duration::from_s(4));
  sites.run_for(Duration::from_s(1));
  Impairment black = calm;
  black.loss = 1;
  sites.set_wan(black);
  sites.run_for(length);
  const Instant back = sites.now();
  sites.set_wan(calm);
  sites.run_for(Duration::from_s(6));
  for (const uint16_t flow : {1, 2}) {
    SCOPED_TRACE(flow);
    const FlowReport& report = sites.host(2).report(flow);
    expect_sound(report);
    EXPECT_LE(first_since(report, began, back), back + Duration::from_s(1) + rtt);
    EXPECT_GT(report.next,
              static_cast<uint64_t>((length + Duration::from_s(4)).ns() / 500'000) - 10);
    // Nobody is given a packet that its sender has long given up.
    EXPECT_LT(report.delay_max, Duration::from_ms(250) + rtt * 2);
  }
  EXPECT_EQ(sites.host(2).report(2).overtaken, 0u);
}

INSTANTIATE_TEST_SUITE_P(Of, GatewayBlackout, testing::Values(100, 1000, 10'000, 20'000),
                         [](const auto& each) { return std::to_string(each.param) + "_ms"; });

TEST(GatewayHold, ends_and_the_order_goes_on_behind_the_hole) {
  // Twenty per cent lost and no time for more than one resend.
  TwoSites sites({.seed = 19,
                  .wan = {.loss = 0.2, .delay = one_way},
                  .classes = {{.name = "all", .hold = Duration::from_ms(45)}}});
  ASSERT_TRUE(sites.come_up());
  send_both(sites, Duration::from_s(3));
  sites.run_for(Duration::from_s(5));
  for (const uint16_t flow : {1, 2}) {
    const FlowReport& report = sites.host(2).report(flow);
    expect_sound(report);
    EXPECT_GT(report.received, 4500u);
    EXPECT_LT(report.received, 6000u);  // some were given up
    EXPECT_LT(report.delay_max, Duration::from_ms(45) + rtt * 2);
  }
  EXPECT_EQ(sites.host(2).report(2).overtaken, 0u);
}

TEST(GatewayAccounts, add_up_at_each_site_and_between_them) {
  TwoSites sites({.seed = 23,
                  .wan = {.loss = 0.2, .delay = one_way},
                  .classes = {{.name = "all", .hold = Duration::from_ms(45)}}});
  ASSERT_TRUE(sites.come_up());
  send_both(sites, Duration::from_s(2));
  sites.run_for(Duration::from_s(4));
  const auto sender = sites.gateway(1).gateway().view(0);
  const auto receiver = sites.gateway(2).gateway().view(0).inbound;
  const auto& counters = sites.gateway(1).counters();
  const auto& drops = sites.gateway(1).drops();
  EXPECT_EQ(counters.read_any_thread(Counter::lan_in), sites.host(1).sent_count());
  EXPECT_EQ(counters.read_any_thread(Counter::lan_in),
            sender.sent + drops.read_any_thread(DropReason::peer_down) +
                drops.read_any_thread(DropReason::wan_queue_full) +
                drops.read_any_thread(DropReason::wan_places_full) +
                drops.read_any_thread(DropReason::stream_broken));
  EXPECT_TRUE(receiver.is_balanced());
  EXPECT_EQ(receiver.held + receiver.queued, 0u);
  EXPECT_EQ(receiver.out, sites.host(2).received_count());
  // Between the sites: what was sent came out, or was given up.
  EXPECT_GT(receiver.given_up, 0u);
  EXPECT_EQ(sender.sent, receiver.seen + receiver.given_up);
  EXPECT_TRUE(sites.gateway(1).gateway().is_drained());
  EXPECT_TRUE(sites.gateway(2).gateway().is_drained());
}

}  // namespace
}  // namespace cw::sim
