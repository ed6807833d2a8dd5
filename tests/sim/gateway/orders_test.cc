// Policies ordered at run time of whole sites: what becomes of an order, and for how long it holds.
#include "plugins/loader.h"
#include "tests/sim/gateway/ordered_sites.h"

namespace cw::sim {
namespace {

using site::SwapOrder;
using site::SwapView;
using Fate = SwapView::Fate;
using World = OrderedSites;

TEST(Orders, are_told_by_their_number_at_each_link) {
  World world(3);
  const uint32_t number = world.order(order_of(cw_policy_hybrid()));
  EXPECT_TRUE(world.all_are(number, Fate::UnderWay));
  world.run_for(Duration::from_ms(500));
  const auto views = world.views(number);
  ASSERT_EQ(views.size(), 2u);
  for (const SwapView& each : views) {
    EXPECT_EQ(each.fate, Fate::Done) << each.why;
    EXPECT_EQ(each.policy, "hybrid/1");
    EXPECT_TRUE(each.is_outward && each.is_ours);
    EXPECT_GT(each.ms, 0);
  }
  EXPECT_EQ(world.out(1), "hybrid");
  EXPECT_EQ(world.in(1), "selective_repeat");
  EXPECT_FALSE(world.sites.state(1).has_open_swaps);
}

TEST(Orders, may_be_for_one_peer_and_for_what_it_sends) {
  World world(3);
  SwapOrder order = order_inward(cw_policy_hybrid());
  order.peer = 1;
  const uint32_t number = world.order(order);
  world.run_for(Duration::from_ms(500));
  const SwapView view = world.view(number);
  EXPECT_EQ(view.peer, 1);
  EXPECT_EQ(view.fate, Fate::Done) << view.why;
  EXPECT_FALSE(view.is_outward);
  EXPECT_EQ(world.out(3), "hybrid");
  EXPECT_EQ(world.out(2), "selective_repeat");
}

TEST(Orders, of_what_runs_already_are_done) {
  World world;
  const uint32_t number = world.order(order_of(cw_policy_selective_repeat()));
  const SwapView view = world.view(number);
  EXPECT_EQ(view.fate, Fate::Done);
  EXPECT_EQ(view.id, 0u);
}

TEST(Orders, wait_for_a_link_that_is_down) {
  World world;
  world.sites.crash(2);
  ASSERT_TRUE(world.sites.run_until([&] { return !world.sites.state(1).peers[0].is_up; },
                                    world.sites.now() + Duration::from_s(20)));
  const uint32_t number = world.order(order_of(cw_policy_hybrid()));
  world.run_for(Duration::from_ms(200));
  const SwapView view = world.view(number);
  EXPECT_EQ(view.fate, Fate::Waiting);
  EXPECT_TRUE(view.why.starts_with("the link is down: ")) << view.why;
  world.sites.start(2);
  world.run_for(Duration::from_s(3));
  EXPECT_EQ(world.view(number).fate, Fate::Done) << world.view(number).why;
  EXPECT_EQ(world.in(2), "hybrid");
}

TEST(Orders, that_cannot_be_say_why) {
  World world;
  SwapOrder order;
  order.policy = {std::string_view("nobody/1"), std::string_view()};
  const uint32_t number = world.order(order);
  world.run_for(Duration::from_ms(500));
  const SwapView view = world.view(number);
  EXPECT_EQ(view.fate, Fate::NotDone);
  EXPECT_EQ(view.status, SwapStatus::Unknown);
  EXPECT_FALSE(view.is_refused_there);
  EXPECT_NE(view.why.find("nobody"), std::string::npos) << view.why;
}

TEST(Orders, of_both_directions_are_done_in_both_or_in_none) {
  World world;
  SwapOrder order = order_of(cw_policy_hybrid());
  order.is_inward = true;
  const uint32_t number = world.order(order);
  world.run_for(Duration::from_ms(500));
  EXPECT_EQ(world.views(number).size(), 2u);
  EXPECT_TRUE(world.all_are(number, Fate::Done));
  EXPECT_EQ(world.out(1) + " " + world.out(2), "hybrid hybrid");
  world.sites.restart(2);
  world.run_for(Duration::from_s(4));
  EXPECT_EQ(world.out(1) + " " + world.out(2), "hybrid hybrid");
  order.policy.params = std::string_view("nothing=1");
  const uint32_t refused = world.order(order);
  world.run_for(Duration::from_ms(500));
  ASSERT_EQ(world.views(refused).size(), 2u);
  for (const SwapView& each : world.views(refused)) {
    EXPECT_EQ(each.fate, Fate::NotDone);
    EXPECT_EQ(each.status, SwapStatus::Parameters) << each.why;
    EXPECT_FALSE(each.why.empty());
  }
  EXPECT_EQ(world.out(1) + " " + world.out(2), "hybrid hybrid");
}

TEST(Orders, wait_for_one_that_is_under_way_and_follow_one_that_is_not) {
  World world;
  const uint32_t first = world.order(order_of(cw_policy_hybrid()));
  const uint32_t second = world.order(order_of(cw_policy_erasure()));
  EXPECT_EQ(world.view(second).fate, Fate::Waiting);
  EXPECT_EQ(world.view(second).status, SwapStatus::Busy);
  const uint32_t third = world.order(order_of(cw_policy_go_back_n()));
  EXPECT_EQ(world.view(second).fate, Fate::NotDone);
  EXPECT_EQ(world.view(second).why, "another order has been given since");
  world.run_for(Duration::from_s(1));
  EXPECT_EQ(world.view(first).fate, Fate::Done) << world.view(first).why;
  EXPECT_EQ(world.view(third).fate, Fate::Done) << world.view(third).why;
  EXPECT_EQ(world.out(1), "go_back_n");
}

TEST(Orders, hold_when_the_peer_begins_anew) {
  World world;
  const uint32_t out = world.order(order_of(cw_policy_hybrid()));
  world.run_for(Duration::from_ms(500));
  const uint32_t in = world.order(order_inward(cw_policy_go_back_n()));
  world.run_for(Duration::from_ms(500));
  for (int life = 0; life < 2; ++life) {
    world.sites.restart(2);
    world.run_for(Duration::from_s(4));
    EXPECT_EQ(world.out(1) + " " + world.in(2), "hybrid hybrid");
    EXPECT_EQ(world.out(2) + " " + world.in(1), "go_back_n go_back_n");
    EXPECT_EQ(world.view(out).fate, Fate::Done) << world.view(out).why;
    EXPECT_EQ(world.view(in).fate, Fate::Done) << world.view(in).why;
  }
}

TEST(Orders, are_over_when_the_peer_or_the_file_wants_another) {
  World world;
  const uint32_t in = world.order(order_inward(cw_policy_go_back_n()));
  const uint32_t out = world.order(order_of(cw_policy_hybrid()));
  world.run_for(Duration::from_ms(500));
  world.sites.gateway(2).order_swap(order_of(cw_policy_erasure()), world.sites.now());
  world.sites.gateway(1).want_policies({{0, order_of(cw_policy_selective_repeat()).policy}},
                                       world.sites.now());
  world.run_for(Duration::from_ms(500));
  EXPECT_EQ(world.in(1), "erasure");
  EXPECT_EQ(world.out(1), "selective_repeat");
  world.sites.restart(2);
  world.run_for(Duration::from_s(4));
  EXPECT_EQ(world.in(1), "selective_repeat");
  EXPECT_EQ(world.out(1), "selective_repeat");
  EXPECT_EQ(world.view(in).fate, Fate::Done);
  EXPECT_EQ(world.view(out).fate, Fate::Done);
}

/// The same file twice is two versions of its policy: the older is unmapped when nothing of it is
/// left, and not before.
TEST(Orders, of_a_new_version_let_go_of_the_old_one) {
  World world;
  site::Site& gateway = world.sites.gateway(1);
  const auto swap_to_newest = [&] {
    ASSERT_EQ(gateway.load_policy(CW_PLUGIN).value_or("none"), "selective_repeat");
    SwapOrder order = order_of(cw_policy_selective_repeat());
    order.table = gateway.newest_policy("selective_repeat");
    const uint32_t number = world.order(order);
    EXPECT_EQ(world.view(number).fate, Fate::UnderWay);
    EXPECT_EQ(gateway.release_policies(), 0u) << "a swap is under way";
    world.run_for(Duration::from_ms(500));
    EXPECT_EQ(world.view(number).fate, Fate::Done) << world.view(number).why;
  };
  const size_t files = plugins::LoadedPolicy::resident_count();
  swap_to_newest();
  EXPECT_EQ(gateway.release_policies(), 0u) << "the only one of the file";
  swap_to_newest();
  EXPECT_EQ(plugins::LoadedPolicy::resident_count(), files + 2);
  EXPECT_EQ(gateway.release_policies(), 1u);
  EXPECT_EQ(plugins::LoadedPolicy::resident_count(), files + 1);
  EXPECT_EQ(world.out(1), "selective_repeat");
}

}  // namespace
}  // namespace cw::sim
