// Swaps under guard: what does worse is swapped back, unless the line does.
#include "tests/sim/gateway/ordered_sites.h"

namespace cw::sim {
namespace {

using namespace literals;
using site::GuardState;
using site::SwapOrder;
using site::SwapView;
using Fate = SwapView::Fate;

Impairment losing(double share) {
  Impairment wan{.delay = Duration::from_ms(10)};
  wan.loss = share;
  return wan;
}

/// Both hosts send a thousand packets a second.
struct GuardedSites : OrderedSites {
  explicit GuardedSites(double loss) {
    sites.set_wan(losing(loss));
    for (const int from : {1, 2}) {
      FlowOptions flow;
      flow.kind = gateway::PacketKind::RoceRc;
      flow.number = static_cast<uint16_t>(from);
      flow.from = static_cast<uint8_t>(from), flow.to = static_cast<uint8_t>(3 - from);
      flow.bytes = 500;
      flow.rate = Rate::from_mbps(4);
      flow.packets = 1'000'000;
      flow.begin = sites.now();
      sites.host(from).add_flow(flow);
    }
    run_for(1_s);
  }
  SwapView guarded(SwapOrder order) {
    order.is_guarded = true;
    const uint32_t number = this->order(order);
    run_for(40_s);
    return view(number);
  }
};

TEST(Guard, swaps_back_what_gives_up_more) {
  for (const bool is_outward : {true, false}) {
    SCOPED_TRACE(is_outward);
    GuardedSites world(0.01);
    SwapOrder order =
        is_outward ? order_of(cw_policy_passthrough()) : order_inward(cw_policy_passthrough());
    const SwapView view = world.guarded(order);
    EXPECT_EQ(view.fate, Fate::Done) << view.why;
    EXPECT_EQ(view.guard, GuardState::SwappedBack) << view.guard_says;
    EXPECT_TRUE(view.guard_says.starts_with("given up ")) << view.guard_says;
    EXPECT_EQ(is_outward ? world.out(1) : world.in(1), "selective_repeat");
    EXPECT_EQ(is_outward ? world.in(2) : world.out(2), "selective_repeat");
    world.run_for(40_s);
    EXPECT_EQ(is_outward ? world.out(1) : world.in(1), "selective_repeat") << "once is enough";
    EXPECT_FALSE(world.sites.state(1).has_open_swaps);
  }
}

TEST(Guard, keeps_what_does_no_worse) {
  GuardedSites world(0.01);
  const SwapView view = world.guarded(order_of(cw_policy_hybrid()));
  EXPECT_EQ(view.fate, Fate::Done) << view.why;
  EXPECT_EQ(view.guard, GuardState::Kept) << view.guard_says;
  EXPECT_EQ(world.out(1), "hybrid");
}

TEST(Guard, cannot_tell_where_the_line_has_become_worse) {
  GuardedSites world(0.002);
  SwapOrder order = order_of(cw_policy_passthrough());
  order.is_guarded = true;
  const uint32_t number = world.order(order);
  world.run_for(5_s);
  EXPECT_EQ(world.view(number).fate, Fate::Waiting);
  EXPECT_EQ(world.view(number).why, "its guard watches the policy before it");
  world.run_for(6_s);
  EXPECT_EQ(world.view(number).guard, GuardState::Watching);
  world.sites.set_wan(losing(0.05));
  world.run_for(30_s);
  const SwapView view = world.view(number);
  EXPECT_EQ(view.guard, GuardState::Undecided) << view.guard_says;
  EXPECT_NE(view.guard_says.find("; but the line lost "), std::string::npos) << view.guard_says;
  EXPECT_EQ(world.out(1), "passthrough");
}

TEST(Guard, cannot_tell_of_too_few_frames) {
  OrderedSites world;
  SwapOrder order = order_of(cw_policy_hybrid());
  order.is_guarded = true;
  const uint32_t number = world.order(order);
  world.run_for(40_s);
  EXPECT_EQ(world.view(number).guard, GuardState::Undecided);
  EXPECT_TRUE(world.view(number).guard_says.starts_with("too few frames to compare: "));
  EXPECT_EQ(world.out(1), "hybrid");
}

TEST(Guard, of_both_directions_judges_each) {
  GuardedSites world(0.01);
  SwapOrder order = order_of(cw_policy_hybrid());
  order.is_inward = order.is_guarded = true;
  const uint32_t number = world.order(order);
  world.run_for(40_s);
  ASSERT_EQ(world.views(number).size(), 2u);
  for (const SwapView& each : world.views(number)) {
    EXPECT_EQ(each.guard, GuardState::Kept) << each.guard_says;
  }
}

}  // namespace
}  // namespace cw::sim
