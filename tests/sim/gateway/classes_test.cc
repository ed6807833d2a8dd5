// Classes that share a link, RoCE's rules of order, and a link that carries less than promised.
#include <gtest/gtest.h>

#include "tests/sim/gateway/two_sites.h"

namespace cw::sim {
namespace {

using gateway::PacketKind;

constexpr Duration one_way = Duration::from_ms(10);

gateway::ClassOptions dscp_class(const char* name, uint16_t qp, uint8_t dscp, uint32_t weight) {
  gateway::ClassOptions made{.name = name, .qp = qp, .weight = weight};
  made.matches.push_back({.dscp = dscp});
  return made;
}

void offer(TwoSites& sites, uint8_t dscp, uint64_t mbps, Duration time) {
  const Rate rate = Rate::from_mbps(mbps);
  sites.host(1).add_flow({.number = dscp,
                          .rate = rate,
                          .packets = rate.bytes_in(time).count() / 1000,
                          .begin = sites.now(),
                          .dscp = dscp});
}

uint64_t arrived_between(const FlowReport& report, Instant from, Instant to) {
  uint64_t count = 0;
  for (const Instant at : report.arrivals) count += at >= from && at < to;
  return count;
}

TEST(GatewayClasses, share_a_full_link_by_weight_and_the_idle_ones_share_is_the_others) {
  TwoSitesOptions options{
      .seed = 79, .wan = {.delay = one_way}, .rate = Rate::from_mbps(100), .messages = 64};
  options.classes = {dscp_class("light", 0, 8, 1), dscp_class("heavy", 1, 16, 3)};
  TwoSites sites(options);
  ASSERT_TRUE(sites.come_up());
  sites.run_for(one_way * 4);
  const Instant begin = sites.now();
  offer(sites, 8, 120, Duration::from_s(4));
  offer(sites, 16, 120, Duration::from_s(2));
  sites.run_for(Duration::from_s(5));
  const FlowReport &light = sites.host(2).report(8), &heavy = sites.host(2).report(16);
  const auto second = Duration::from_s(1);
  const auto of_light =
      static_cast<double>(arrived_between(light, begin + second / 2, begin + second * 2));
  const auto of_heavy =
      static_cast<double>(arrived_between(heavy, begin + second / 2, begin + second * 2));
  EXPECT_NEAR(of_light / (of_light + of_heavy), 0.25, 0.0125);
  EXPECT_GT((of_light + of_heavy) * 8000 / 1.5, 0.9e6 * 100);  // headers take the rest
  const auto alone =
      static_cast<double>(arrived_between(light, begin + second * 5 / 2, begin + second * 7 / 2));
  EXPECT_GT(alone * 8000, 0.9e6 * 100);
}

TEST(GatewayRate, finds_a_link_of_sixty_per_cent_and_keeps_nine_tenths_of_it) {
  TwoSitesOptions options{.seed = 83,
                          .wan = {.delay = one_way},
                          .rate = Rate::from_mbps(100),
                          .messages = 64,
                          .adapt = true};
  TwoSites sites(options);
  ASSERT_TRUE(sites.come_up());
  sites.run_for(one_way * 4);
  offer(sites, 8, 95, Duration::from_s(10));
  sites.run_for(Duration::from_s(1));
  sites.set_wan(
      {.rate = Rate::from_mbps(60), .queue_time = Duration::from_ms(50), .delay = one_way});
  const Instant changed = sites.now();
  sites.run_for(Duration::from_s(2));
  EXPECT_LT(sites.gateway(1).link().rate().bps(), 76'000'000u);
  sites.run_for(Duration::from_s(8));
  const FlowReport& report = sites.host(2).report(8);
  EXPECT_EQ(report.wrong + report.doubled, 0u);
  const auto kept = static_cast<double>(
      arrived_between(report, changed + Duration::from_s(3), changed + Duration::from_s(8)));
  // Of the bytes of slots, of which frames and slots have headers of their own.
  EXPECT_GT(kept * 8000 / 5, 0.9 * 60e6 * 1000 / 1060);
}

FlowOptions roce(uint16_t number, uint8_t opcode, Instant begin) {
  return {.kind = PacketKind::RoceRc,
          .number = number,
          .bytes = 200,
          .rate = Rate::from_mbps(8),
          .packets = 4000,
          .begin = begin,
          .opcode = opcode};
}

constexpr uint8_t write_only = 0x0a, read_response_only = 0x10, acknowledge = 0x11, cnp = 0x81;

// All four lose alike; what differs is whom they wait for.
TEST(GatewayOrder, is_what_roce_needs_and_no_more) {
  TwoSites sites({.seed = 89, .wan = {.loss = 0.02, .delay = one_way}, .messages = 64});
  ASSERT_TRUE(sites.come_up());
  sites.run_for(one_way * 4);
  const Instant begin = sites.now();
  uint16_t number = 0;
  for (const uint8_t opcode : {write_only, read_response_only, acknowledge, cnp}) {
    ++number;
    sites.host(1).add_flow(roce(number, opcode, begin + Duration::from_us(20) * number));
  }
  sites.run_for(Duration::from_s(3));
  for (const uint16_t each : {1, 2, 3, 4}) {
    SCOPED_TRACE(each);
    const FlowReport& report = sites.host(2).report(each);
    EXPECT_EQ(report.received, 4000u);
    EXPECT_EQ(report.wrong + report.doubled, 0u);
    // Requests and responses keep their order; acknowledgements and notices overtake.
    if (each <= 2) {
      EXPECT_EQ(report.overtaken, 0u);
    } else {
      EXPECT_GT(report.overtaken, 20u);
    }
  }
}

}  // namespace
}  // namespace cw::sim
