// How peers stand, as their links are seen, and where that leads shared routes.
#include "control/gateway/site/live/steering.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cw::site {
namespace {

using namespace literals;
using gateway::Prefix;
using gateway::Standing;
using enum gateway::Standing;

/// Two peers, of one link each unless a test adds more.
struct World {
  World() {
    for (uint16_t i = 0; i < 2; ++i) {
      plan.gateway.peers.push_back(
          {.peer = i, .name = i == 0 ? "a" : "b", .routes = {{.bits = 8}}});
      PeerView& view = state.peers.emplace_back();
      view.peer = i, view.is_up = true;
      view.paths.emplace_back();
    }
    plan.gateway.peers[0].prefer = 200;
    state.at = Instant() + 100_s;
  }
  std::vector<Standing> after(Duration time) {
    state.at += time;
    return steering.look(state, plan);
  }

  Plan plan;
  SiteState state;
  Steering steering;
};
using Row = std::vector<Standing>;

TEST(Steering, takes_a_peer_at_once_that_was_never_up) {
  World world;
  world.state.peers[0].is_up = false;
  EXPECT_EQ(world.after(0_s), (Row{Down, Up}));
  world.state.peers[0].is_up = true;
  EXPECT_EQ(world.after(200_ms), (Row{Up, Up}));
}

TEST(Steering, trusts_a_peer_that_was_away_after_a_while) {
  for (const bool drains : {false, true}) {
    World world;
    (void)world.after(0_s);
    PeerView& peer = world.state.peers[0];
    drains ? peer.is_drain_wanted = true : peer.is_up = false;
    EXPECT_EQ(world.after(200_ms), (Row{drains ? Draining : Down, Up}));
    peer.is_up = true, peer.is_drain_wanted = false;
    EXPECT_EQ(world.after(200_ms), (Row{Returning, Up}));
    EXPECT_EQ(world.after(Steering::patience - 1_ms), (Row{Returning, Up}));
    EXPECT_EQ(world.after(1_ms), (Row{Up, Up}));
  }
}

TEST(Steering, has_a_peer_for_down_that_does_not_answer) {
  World world;
  PeerView& peer = world.state.peers[0];
  peer.paths[0].rtt_smoothed = peer.paths[0].rtt_min = 100_ms;
  peer.silence = Steering::silence_max + 400_ms;
  EXPECT_EQ(world.after(0_s), (Row{Up, Up}));
  peer.silence += 1_ms;
  EXPECT_EQ(world.after(200_ms), (Row{Down, Up}));
}

TEST(Steering, has_a_peer_for_up_of_which_one_link_is) {
  World world;
  world.state.peers.push_back(world.state.peers[0]);
  world.state.peers[0].is_up = false;
  EXPECT_EQ(world.after(0_s), (Row{Up, Up}));
  world.state.peers.back().is_drain_wanted = true;
  EXPECT_EQ(world.after(200_ms), (Row{Draining, Up}));
}

TEST(Steering, knows_nothing_of_who_has_taken_a_place) {
  World world;
  (void)world.after(0_s);
  world.state.peers[0].is_up = false;
  (void)world.after(200_ms);
  world.plan.gateway.peers[0].name = "c";
  world.state.peers[0].is_up = true;
  EXPECT_EQ(world.after(200_ms), (Row{Up, Up}));
}

TEST(Steering, tells_where_shared_routes_go_and_of_no_others) {
  World world;
  const auto moves = moves_between(world.plan, {Draining, Up});
  ASSERT_EQ(moves.size(), 1u);
  EXPECT_EQ(moves[0].from + " " + moves[0].to, "a b");
  EXPECT_EQ(moves[0].why, Draining);
  EXPECT_TRUE(moves_between(world.plan, {Up, Down}).empty());
  EXPECT_TRUE(moves_between(world.plan, {Down, Down}).empty()) << "by preference";
  EXPECT_EQ(moves_between(world.plan, {Down, Returning}).size(), 1u);
  world.plan.gateway.peers[1].routes = {{.bits = 9}};
  EXPECT_TRUE(moves_between(world.plan, {Down, Up}).empty());
}

}  // namespace
}  // namespace cw::site
