// For how long nothing has crossed a gateway that is drained.
#include "control/daemon/live/drain.h"

#include <gtest/gtest.h>

#include "tests/sim/gateway/sites.h"

namespace cw::daemon {
namespace {

using namespace literals;

TEST(Drain, is_quiet_since_the_last_frame_and_since_the_order) {
  sim::Sites sites({});
  const Log log(LogLevel::Error, LogFormat::Text);
  Drain drain(sites.gateway(1), log);
  EXPECT_EQ(drain.quiet(), 0_s) << "nobody has looked";
  site::SiteState state = sites.state(1);
  const auto quiet_after = [&](Duration time) {
    state.at += time;
    drain.look(state, 0_s);
    return drain.quiet();
  };
  EXPECT_EQ(quiet_after(0_s), 0_s);
  EXPECT_EQ(quiet_after(5_s), 5_s);
  drain.want(true, 0_s);
  EXPECT_EQ(quiet_after(200_ms), 0_s) << "peers may not have heard of it yet";
  EXPECT_EQ(quiet_after(2_s), 2_s);
  drain.want(true, 0_s);
  EXPECT_EQ(quiet_after(1_s), 3_s) << "no other order";
  for (uint64_t* const count : {&state.lanes[0].sent, &state.lanes[0].inbound.out}) {
    ++*count;
    EXPECT_EQ(quiet_after(1_s), 0_s);
    EXPECT_EQ(quiet_after(1_s), 1_s);
  }
}

/// A worker that stood still when it was ordered hears of it at a later look.
TEST(Drain, is_asked_for_until_the_workers_have_heard) {
  sim::Sites sites({});
  const Log log(LogLevel::Error, LogFormat::Text);
  ASSERT_TRUE(sites.come_up());
  Drain drain(sites.gateway(1), log);
  drain.want(true, 0_s);
  drain.look(sites.state(1), 0_s);
  sites.run_for(200_ms);
  drain.look(sites.state(1), 0_s);
  EXPECT_TRUE(sites.state(2).peers[0].is_drain_wanted);
}

}  // namespace
}  // namespace cw::daemon
