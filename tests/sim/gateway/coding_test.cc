// Policies that code, under whole gateways: repair that was sent ahead reaches hosts in order.
#include <gtest/gtest.h>

#include <algorithm>

#include "policies/policies.h"
#include "tests/sim/gateway/two_sites.h"

namespace cw::sim {
namespace {

using gateway::PacketKind;

constexpr Duration one_way = Duration::from_ms(10);

/// An RC flow of about 100 Mbit/s behind some loss.
const FlowReport& send_rc(TwoSites& sites, uint64_t packets) {
  FlowOptions flow;
  flow.kind = PacketKind::RoceRc;
  flow.bytes = 1060;
  flow.rate = Rate::from_mbps(100);
  flow.packets = packets;
  flow.begin = sites.now();
  sites.host(1).add_flow(flow);
  sites.run_for(Duration::from_s(4));
  return sites.host(2).report(1);
}

Duration delay_at(const FlowReport& report, double share) {
  std::vector<Duration> delays = report.delays;
  const auto at =
      delays.begin() + static_cast<ptrdiff_t>(share * static_cast<double>(delays.size() - 1));
  std::ranges::nth_element(delays, at);
  return *at;
}

class CodingGateway : public testing::TestWithParam<const cw_policy_ops*> {};

TEST_P(CodingGateway, brings_every_frame_once_and_in_its_order) {
  for (const double loss : {0.001, 0.01, 0.05}) {
    SCOPED_TRACE(loss);
    TwoSites sites({.seed = 11, .wan = {.loss = loss, .delay = one_way}, .policy = GetParam()});
    ASSERT_TRUE(sites.come_up());
    const FlowReport& report = send_rc(sites, 20'000);
    EXPECT_EQ(report.received, 20'000u);
    EXPECT_EQ(report.wrong, 0u);
    EXPECT_EQ(report.doubled, 0u);
    EXPECT_EQ(report.overtaken, 0u);
    EXPECT_GT(sites.gateway(2).counters().read_any_thread(Counter::slots_rebuilt), 0u);
  }
}

// What hosts that wait in order gain: a loss costs the rest of a block, not a round trip.
TEST_P(CodingGateway, repairs_a_loss_before_a_resend_could_come) {
  TwoSites sites({.seed = 12, .wan = {.loss = 0.01, .delay = one_way}, .policy = GetParam()});
  ASSERT_TRUE(sites.come_up());
  const FlowReport& report = send_rc(sites, 20'000);
  EXPECT_LT(delay_at(report, 0.5), one_way + Duration::from_ms(1));
  // Two losses of one XOR row are a matter of a wider layer, which takes longer to fill.
  const double share = GetParam() == cw_policy_layered_interleave() ? 0.95 : 0.99;
  EXPECT_LT(delay_at(report, share), one_way * 2);

  TwoSites resending({.seed = 12, .wan = {.loss = 0.01, .delay = one_way}});
  ASSERT_TRUE(resending.come_up());
  EXPECT_GT(delay_at(send_rc(resending, 20'000), share), one_way * 2);
}

TEST_P(CodingGateway, lone_packets_are_repaired_within_the_age_of_a_block) {
  TwoSites sites({.seed = 13, .wan = {.loss = 0.05, .delay = one_way}, .policy = GetParam()});
  ASSERT_TRUE(sites.come_up());
  FlowOptions flow;
  flow.kind = PacketKind::Tcp;
  flow.bytes = 200;
  flow.rate = Rate::from_bps(200 * 8 * 50);  // one every 20 ms
  flow.packets = 150;
  flow.begin = sites.now();
  sites.host(1).add_flow(flow);
  sites.run_for(Duration::from_s(6));
  const FlowReport& report = sites.host(2).report(1);
  EXPECT_EQ(report.received, 150u);
  EXPECT_LT(delay_at(report, 0.98), one_way * 2);
}

INSTANTIATE_TEST_SUITE_P(All, CodingGateway,
                         testing::Values(cw_policy_erasure(), cw_policy_hybrid(),
                                         cw_policy_layered_interleave()),
                         [](const auto& each) { return std::string(each.param->name); });

}  // namespace
}  // namespace cw::sim
