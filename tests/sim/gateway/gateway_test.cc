// Whole frames between whole sites: what hosts may rely on, whatever the wire does.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/sim/gateway/two_sites.h"

namespace cw::sim {
namespace {

using gateway::PacketKind;

constexpr Duration one_way = Duration::from_ms(10);

FlowOptions flow(PacketKind kind, uint16_t number, uint64_t packets, uint64_t mbps = 20) {
  FlowOptions options;
  options.kind = kind;
  options.number = number;
  options.packets = packets;
  options.rate = Rate::from_mbps(mbps);
  return options;
}

FlowOptions back(FlowOptions options) {
  std::swap(options.from, options.to);
  return options;
}

/// Sends one flow of each kind both ways and lets them arrive.
void send_all_kinds(TwoSites& sites, uint64_t packets) {
  for (int site : {1, 2}) {
    uint16_t number = 0;
    for (const auto kind :
         {PacketKind::Udp, PacketKind::Tcp, PacketKind::RoceRc, PacketKind::RoceUd}) {
      FlowOptions options = flow(kind, ++number, packets);
      options.begin = sites.now();
      options.bytes = 100 + 450u * number - (number == 4 ? 400u : 0u);
      sites.host(site).add_flow(site == 1 ? options : back(options));
    }
  }
}

void expect_whole(const FlowReport& report, uint64_t packets) {
  EXPECT_EQ(report.received, packets);
  EXPECT_EQ(report.wrong, 0u);
  EXPECT_EQ(report.doubled, 0u);
}

void expect_all_kinds(TwoSites& sites, uint64_t packets) {
  for (int site : {1, 2}) {
    SCOPED_TRACE(site);
    for (uint16_t number : {1, 2, 3, 4}) {
      SCOPED_TRACE(number);
      expect_whole(sites.host(site).report(number), packets);
    }
    // TCP and RC keep their order, whatever was lost.
    EXPECT_EQ(sites.host(site).report(2).overtaken, 0u);
    EXPECT_EQ(sites.host(site).report(3).overtaken, 0u);
  }
}

TEST(Gateway, without_loss_adds_no_more_than_its_own_turns) {
  TwoSites sites({.seed = 1, .wan = {.delay = one_way}});
  ASSERT_TRUE(sites.come_up());
  sites.run_for(one_way * 4);  // the first credit is on its way
  send_all_kinds(sites, 500);
  sites.run_for(Duration::from_s(2));
  expect_all_kinds(sites, 500);
  for (int site : {1, 2}) {
    for (uint16_t number : {1, 2, 3, 4}) {
      EXPECT_LT(sites.host(site).report(number).delay_max, one_way + Duration::from_ms(1));
    }
  }
  EXPECT_EQ(sites.gateway(1).counters().read_any_thread(Counter::resends_sent), 0u);
}

struct Weather {
  const char* name;
  Impairment wan;
};

class GatewayWeather : public testing::TestWithParam<Weather> {};

TEST_P(GatewayWeather, every_frame_arrives_once_and_in_its_order) {
  TwoSites sites({.seed = 7, .wan = GetParam().wan});
  ASSERT_TRUE(sites.come_up());
  send_all_kinds(sites, 3000);
  sites.run_for(Duration::from_s(6));
  expect_all_kinds(sites, 3000);
}

Impairment bursts() {
  Impairment wan{.delay = one_way};
  wan.gilbert_elliott = GilbertElliott::from_burst(20, 0.01);
  return wan;
}

Impairment cloud() {
  Impairment wan{.delay = one_way};
  wan.bursts.loss = 0.01;
  wan.bursts.profile = *find_burst_profile("amazon");
  return wan;
}

INSTANTIATE_TEST_SUITE_P(
    All, GatewayWeather,
    testing::Values(Weather{"loss_1_percent", {.loss = 0.01, .delay = one_way}},
                    Weather{"loss_5_percent", {.loss = 0.05, .delay = one_way}},
                    Weather{"bursts", bursts()}, Weather{"cloud", cloud()},
                    Weather{
                        "reordered",
                        {.delay = one_way, .reorder = 0.02, .reorder_delay = Duration::from_ms(2)}},
                    Weather{"doubled", {.loss = 0.01, .duplicate = 0.02, .delay = one_way}},
                    Weather{"damaged", {.corrupt = 0.01, .delay = one_way}}),
    [](const auto& each) { return std::string(each.param.name); });

TEST(Gateway, a_lost_datagram_delays_no_other) {
  TwoSites sites({.seed = 3, .wan = {.loss = 0.01, .delay = one_way}});
  ASSERT_TRUE(sites.come_up());
  FlowOptions options = flow(PacketKind::Udp, 1, 5000, 50);
  options.begin = sites.now();
  options.bytes = 400;
  sites.host(1).add_flow(options);
  sites.run_for(Duration::from_s(2));
  FlowReport report = sites.host(2).report(1);
  expect_whole(report, 5000);
  std::ranges::sort(report.delays);
  EXPECT_LT(report.delays[4500], one_way + Duration::from_ms(1));  // nine in ten know of nothing
  EXPECT_GT(report.delay_max, one_way * 2);                        // and some were lost
}

}  // namespace
}  // namespace cw::sim
