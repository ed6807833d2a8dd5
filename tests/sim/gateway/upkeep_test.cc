// What a link says besides its data: two gateways a millisecond apart, and one QP's writes between
// them. On a machine whose packets cost system calls a packet of control costs what one of data
// does.
#include <gtest/gtest.h>

#include <cstdint>

#include "policies/policies.h"
#include "tests/sim/gateway/two_sites.h"

namespace cw::sim {
namespace {

constexpr Duration one_way = Duration::from_us(500), time = Duration::from_s(2);
constexpr uint64_t a_second = 4000;  // packets of writes

/// As soft-RoCE cuts them at an MTU of 1500.
FlowOptions writes(Instant begin) {
  constexpr uint32_t bytes = 1068;
  FlowOptions flow;
  flow.kind = gateway::PacketKind::RoceRc;
  flow.bytes = bytes;
  flow.rate = Rate::from_bps(uint64_t{bytes} * 8 * a_second);
  flow.packets = static_cast<uint64_t>(time.seconds() * a_second);
  flow.begin = begin;
  return flow;
}

TEST(GatewayUpkeep, of_a_short_link_is_less_than_half_of_its_data) {
  TwoSites sites({.seed = 5,
                  .wan = {.delay = one_way},
                  .payload_bytes = 1420,
                  .policy = cw_policy_passthrough()});
  ASSERT_TRUE(sites.come_up());
  const auto sum_of = [&](Counter counter) {
    return sites.gateway(1).counters().read_any_thread(counter) +
           sites.gateway(2).counters().read_any_thread(counter);
  };
  const uint64_t before = sum_of(Counter::controls_sent);
  sites.host(1).add_flow(writes(sites.now()));
  sites.run_for(time + one_way * 20);
  EXPECT_EQ(sites.host(2).report(1).received, sum_of(Counter::data_sent));
  EXPECT_LT(sum_of(Counter::controls_sent) - before, sum_of(Counter::data_sent) / 2);
}

}  // namespace
}  // namespace cw::sim
