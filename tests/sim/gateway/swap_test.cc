// What hosts see when the policy between two gateways is replaced while they send: nothing.
#include <gtest/gtest.h>

#include "dataplane/sdr/seat/seat.h"
#include "dataplane/sdr/stream/recv/recv_stream.h"
#include "dataplane/sdr/stream/send/send_stream.h"
#include "policies/policies.h"
#include "tests/sim/gateway/two_sites.h"

namespace cw::sim {
namespace {

using gateway::PacketKind;

constexpr Duration one_way = Duration::from_ms(10);

class GatewaySwap {
 public:
  explicit GatewaySwap(TwoSites& sites) : sites_(sites) {}

  /// The receiving gateway begins, and the other when it has heard of it.
  void to(const cw_policy_ops* policy) {
    std::vector<double> params;
    for (uint32_t i = 0; i < policy->param_count; ++i) params.push_back(policy->params[i].initial);
    params_.push_back(std::move(params));
    const sdr::PolicyChoice choice{policy, params_.back()};
    const auto& stream = *from().send_stream(0);
    const MessageSeq boundary = stream.next_seq() + 1 + stream.config().messages / 2;
    ++policy_epoch_;
    begin(2, CW_SINK, choice, boundary);
    sites_.run_for(one_way);
    begin(1, CW_SOURCE, choice, boundary);
  }
  bool is_over() {
    return !from().send_stream(0)->seat().is_swapping() &&
           !sites_.gateway(2).link().recv_stream(0)->seat().is_swapping();
  }

 private:
  sdr::Link& from() { return sites_.gateway(1).link(); }
  void begin(int site, cw_role role, const sdr::PolicyChoice& choice, MessageSeq boundary) {
    sdr::Link& link = sites_.gateway(site).link();
    auto next = link.make_successor(0, role, choice, sites_.now());
    ASSERT_TRUE(next) << next.error().sentence;
    sdr::Swap swap{std::move(*next), boundary, policy_epoch_, sites_.now() + Duration::from_s(1)};
    EXPECT_TRUE(link.try_begin_swap(0, role, swap, sites_.now()));
  }

  TwoSites& sites_;
  uint16_t policy_epoch_ = 0;
  std::vector<std::vector<double>> params_;
};

/// At the pace of one packet in half a millisecond, which keep their order.
void send_for(TwoSites& sites, Duration time) {
  FlowOptions options;
  options.kind = PacketKind::RoceRc;
  options.number = 1;
  options.bytes = 500;
  options.rate = Rate::from_mbps(8);
  options.begin = sites.now();
  options.packets = static_cast<uint64_t>(time.ns() / 500'000);
  sites.host(1).add_flow(options);
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
    sites.run_for(Duration::from_ms(90));
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

}  // namespace
}  // namespace cw::sim
