// A policy that gives up a message while the gateway still writes to it: what was in it is lost,
// and nothing behind it.
#include <gtest/gtest.h>

#include <string>

#include "policies/policies.h"
#include "tests/sim/gateway/two_sites.h"

namespace cw::sim {
namespace {

const cw_policy_ops* inner = nullptr;
uint32_t given_up = 0;

/// As `inner`, but every fourth message is given up as soon as it has a few slots.
void append_or_give_up(cw_policy* policy, const cw_fact_appended* fact, int64_t now_ns,
                       cw_out* out) {
  inner->appended(policy, fact, now_ns, out);
  const bool is_its_end = fact->first < 5 && fact->first + fact->count >= 5;
  if (fact->message % 4 != 1 || !is_its_end) return;
  cw_decision* const decision = cw_decide(out, CW_DECIDE_FINISH);
  if (decision == nullptr) return;
  decision->u.finish = {fact->message, 0, CW_UNKNOWN, CW_FINISH_GIVEN_UP};
  ++given_up;
}

class GatewayGivesUp : public testing::TestWithParam<const cw_policy_ops*> {};

TEST_P(GatewayGivesUp, one_message_and_the_next_one_goes_on) {
  inner = GetParam();
  given_up = 0;
  cw_policy_ops policy = *inner;
  policy.appended = append_or_give_up;
  TwoSites sites({.seed = 3, .message_slots = 128, .policy = &policy});
  ASSERT_TRUE(sites.come_up());
  sites.run_for(Duration::from_ms(100));
  FlowOptions flow;
  flow.kind = gateway::PacketKind::Tcp;
  flow.rate = Rate::from_mbps(16);
  flow.packets = 4000;
  flow.begin = sites.now();
  sites.host(1).add_flow(flow);
  sites.run_for(Duration::from_s(4));
  const FlowReport& report = sites.host(2).report(flow.number);
  EXPECT_GE(given_up, 8u);
  EXPECT_GT(report.received, 3700u);
  EXPECT_GT(report.next, 3990u) << "what came last comes, too";
  EXPECT_EQ(report.wrong + report.doubled + report.overtaken, 0u);
  const gateway::LaneView lane = sites.gateway(1).gateway().view(0);
  EXPECT_EQ(lane.waiting_bytes, 0u);
  EXPECT_TRUE(sites.gateway(2).gateway().view(0).inbound.is_balanced());
  EXPECT_TRUE(sites.gateway(1).gateway().is_drained());
  EXPECT_TRUE(sites.gateway(2).gateway().is_drained());
}

INSTANTIATE_TEST_SUITE_P(Under, GatewayGivesUp,
                         testing::Values(cw_policy_passthrough(), cw_policy_selective_repeat(),
                                         cw_policy_go_back_n(), cw_policy_hybrid()),
                         [](const auto& each) { return std::string(each.param->name); });

}  // namespace
}  // namespace cw::sim
