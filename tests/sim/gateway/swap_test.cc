// What hosts see when the policy between two gateways is replaced while they send: nothing.
#include <gtest/gtest.h>

#include "dataplane/sdr/seat/seat.h"
#include "dataplane/sdr/stream/recv/recv_stream.h"
#include "dataplane/sdr/stream/send/send_stream.h"
#include "dataplane/sdr/swap/swap_end.h"
#include "policies/policies.h"
#include "tests/sim/gateway/two_sites.h"

namespace cw::sim {
namespace {

using gateway::PacketKind;

constexpr Duration one_way = Duration::from_ms(10);

/// Swaps that gateway 1 orders, of what it sends or of what it receives.
class GatewaySwap {
 public:
  explicit GatewaySwap(TwoSites& sites) : sites_(sites) {}

  void to(const cw_policy_ops* policy, cw_role role = CW_SOURCE) {
    const std::vector<double> params = defaults_of(*policy);
    const auto ordered = link(1).order_swap(0, role, sdr::named({policy, params}), sites_.now());
    ASSERT_TRUE(ordered) << ordered.error().sentence;
  }
  void both_to(const cw_policy_ops* policy) {
    const std::vector<double> params = defaults_of(*policy);
    const auto named = sdr::named({policy, params});
    const auto ordered = link(1).order_swap(0, std::nullopt, named, sites_.now());
    ASSERT_TRUE(ordered) << ordered.error().sentence;
  }
  bool is_over(cw_role role = CW_SOURCE) {
    return is_done(*link(1).swap(0, role)) &&
           is_done(*link(2).swap(0, role == CW_SOURCE ? CW_SINK : CW_SOURCE));
  }
  std::string at(int site, cw_role role) {
    auto& seat =
        role == CW_SOURCE ? link(site).send_stream(0)->seat() : link(site).recv_stream(0)->seat();
    return seat.name();
  }

 private:
  sdr::Link& link(int site) { return sites_.gateway(site).link(); }
  static bool is_done(const sdr::SwapEnd& end) {
    return end.is_idle() && end.report().fate == sdr::SwapReport::Fate::Done;
  }
  TwoSites& sites_;
};

/// At the pace of one packet in half a millisecond, which keep their order.
void send_for(TwoSites& sites, Duration time, int from = 1) {
  FlowOptions options;
  options.kind = PacketKind::RoceRc;
  options.number = static_cast<uint16_t>(from);
  options.from = static_cast<uint8_t>(from), options.to = static_cast<uint8_t>(3 - from);
  options.bytes = 500;
  options.rate = Rate::from_mbps(8);
  options.begin = sites.now();
  options.packets = static_cast<uint64_t>(time.ns() / 500'000);
  sites.host(from).add_flow(options);
}

TEST(GatewaySwaps, while_hosts_send_lose_and_reorder_nothing) {
  TwoSites sites(
      {.seed = 31, .wan = {.loss = 0.01, .delay = one_way}, .policy = cw_policy_hybrid()});
  ASSERT_TRUE(sites.come_up());
  GatewaySwap swap(sites);
  constexpr int swaps = 20;
  send_for(sites, Duration::from_ms(100) * (swaps + 1));
  for (int i = 0; i < swaps; ++i) {
    swap.to(i % 2 == 0 ? cw_policy_selective_repeat() : cw_policy_hybrid());
    sites.run_for(Duration::from_ms(100));
    ASSERT_TRUE(swap.is_over()) << i;
  }
  sites.run_for(Duration::from_ms(500));
  const FlowReport& report = sites.host(2).report(1);
  EXPECT_EQ(report.received, 200u * (swaps + 1));
  EXPECT_EQ(report.wrong + report.doubled + report.overtaken, 0u);
  EXPECT_LT(report.delay_max, one_way * 7);
}

/// Idle gateways change as well, and with what they carry next.
TEST(GatewaySwaps, of_an_idle_stream_end_too) {
  TwoSites sites({.seed = 32, .policy = cw_policy_selective_repeat()});
  ASSERT_TRUE(sites.come_up());
  GatewaySwap swap(sites);
  swap.to(cw_policy_go_back_n());
  sites.run_for(Duration::from_ms(200));
  EXPECT_TRUE(swap.is_over());
  send_for(sites, Duration::from_ms(100));
  sites.run_for(Duration::from_ms(300));
  EXPECT_EQ(sites.host(2).report(1).received, 200u);
}

/// Each direction has a policy of its own, and what is ordered by who receives holds as well.
TEST(GatewaySwaps, of_both_directions_at_once_are_two) {
  TwoSites sites(
      {.seed = 33, .wan = {.loss = 0.01, .delay = one_way}, .policy = cw_policy_hybrid()});
  ASSERT_TRUE(sites.come_up());
  GatewaySwap swap(sites);
  swap.to(cw_policy_selective_repeat());
  swap.to(cw_policy_go_back_n(), CW_SINK);
  sites.run_for(Duration::from_ms(300));
  EXPECT_TRUE(swap.is_over(CW_SOURCE) && swap.is_over(CW_SINK));
  EXPECT_EQ(swap.at(1, CW_SOURCE), "selective_repeat");
  EXPECT_EQ(swap.at(2, CW_SINK), "selective_repeat");
  EXPECT_EQ(swap.at(2, CW_SOURCE), "go_back_n");
  EXPECT_EQ(swap.at(1, CW_SINK), "go_back_n");
}

/// While one waits for the other, what hosts send does not.
TEST(GatewaySwaps, of_both_directions_may_be_one_order) {
  TwoSites sites(
      {.seed = 34, .wan = {.loss = 0.01, .delay = one_way}, .policy = cw_policy_hybrid()});
  ASSERT_TRUE(sites.come_up());
  GatewaySwap swap(sites);
  constexpr int swaps = 20;
  for (const int site : {1, 2}) send_for(sites, Duration::from_ms(150) * (swaps + 1), site);
  for (int i = 0; i < swaps; ++i) {
    swap.both_to(i % 2 == 0 ? cw_policy_selective_repeat() : cw_policy_hybrid());
    sites.run_for(Duration::from_ms(150));
    ASSERT_TRUE(swap.is_over(CW_SOURCE) && swap.is_over(CW_SINK)) << i;
  }
  sites.run_for(Duration::from_ms(500));
  for (const int site : {1, 2}) {
    const FlowReport& report = sites.host(3 - site).report(static_cast<uint16_t>(site));
    EXPECT_EQ(report.received, 300u * (swaps + 1));
    EXPECT_EQ(report.wrong + report.doubled + report.overtaken, 0u);
    EXPECT_LT(report.delay_max, one_way * 7);
  }
}

}  // namespace
}  // namespace cw::sim
