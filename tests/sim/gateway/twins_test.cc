// Two gateways before the same hosts: whoever sends to these goes by the one that is preferred, up
// and does not drain, and moving from one to the other costs no frame.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "control/gateway/site/site.h"
#include "tests/sim/gateway/sites.h"

namespace cw::sim {
namespace {

using namespace literals;
using site::RouteMove;

constexpr int preferred = 1, other = 2, far = 3;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  return text.replace(place, from.size(), to);
}

/// The far site's has the hosts of the first behind the first two.
std::vector<std::string> twins_files(const SiteText& text) {
  std::vector<std::string> files = site_files(3, text);
  std::string& file = files[far - 1];
  file = replaced(file, "10.2.0.0/16", "10.1.0.0/16");
  file = replaced(file, "fd00:2::/32", "fd00:1::/32");
  file = replaced(file, "[[peer]]\n", "[[peer]]\nprefer = 200\n");
  return files;
}

struct Twins {
  explicit Twins(const Impairment& wan = {.loss = 0.01, .delay = 10_ms}, const SiteText& text = {})
      : sites({.seed = 5, .files = twins_files(text), .wan = wan}) {
    EXPECT_TRUE(sites.come_up());
    run_for(200_ms);
    moves.clear();
  }
  /// As causewayd's control thread looks.
  void run_for(Duration time) {
    for (const Instant end = sites.now() + time; sites.now() < end;) {
      sites.run_for(50_ms);
      if (!sites.seat(far).is_alive()) continue;
      for (RouteMove& each : sites.gateway(far).steer(sites.state(far))) moves.push_back(each);
    }
  }
  void send(uint64_t packets) {
    FlowOptions flow;
    flow.bytes = 500, flow.rate = 8_Mbps;
    flow.packets = packets;
    flow.begin = sites.now();
    flow.from = far, flow.to = preferred;
    sites.host(far).add_flow(flow);
  }
  uint64_t came_by(int twin) { return sites.host(twin).report(1).received; }
  std::string last_move() const {
    return moves.empty() ? "none" : moves.back().from + " to " + moves.back().to;
  }

  Sites sites;
  std::vector<RouteMove> moves;
};

TEST(Twins, move_by_a_drain_and_back_without_losing_a_frame) {
  for (const char* shards : {"", "cores = [0, 0]\n"}) {
    SCOPED_TRACE(shards);
    SiteText text;
    text.site = shards;
    if (*shards != '\0') text.pair = "links = 2\n";
    Twins world({.loss = 0.01, .delay = 10_ms}, text);
    constexpr uint64_t packets = 16'000;  // eight seconds
    world.send(packets);
    world.run_for(1_s);
    EXPECT_EQ(world.came_by(other), 0u);
    EXPECT_GT(world.came_by(preferred), 1000u);

    world.sites.gateway(preferred).want_drain(true, world.sites.now());
    world.run_for(500_ms);
    EXPECT_EQ(world.moves.size(), 2u);  // one of each IP version
    EXPECT_EQ(world.last_move(), "site 1 to site 2");
    EXPECT_EQ(world.moves.back().why, gateway::Standing::Draining);
    const uint64_t by_preferred = world.came_by(preferred);
    world.run_for(1_s);
    EXPECT_EQ(world.came_by(preferred), by_preferred);
    EXPECT_GT(world.came_by(other), 1000u);

    world.sites.gateway(preferred).want_drain(false, world.sites.now());
    world.run_for(8_s);
    EXPECT_EQ(world.last_move(), "site 2 to site 1");
    EXPECT_EQ(world.moves.back().why, gateway::Standing::Up);
    EXPECT_GT(world.came_by(preferred), by_preferred + 1000);
    EXPECT_EQ(world.came_by(preferred) + world.came_by(other), packets);
    for (const int twin : {preferred, other}) {
      EXPECT_EQ(world.sites.host(twin).report(1).doubled, 0u);
      EXPECT_EQ(world.sites.host(twin).report(1).wrong, 0u);
    }
  }
}

// Much of it is lost, and whoever asked is still heard after a new epoch.
TEST(Twins, hear_of_a_drain_over_a_bad_line_and_in_a_new_epoch) {
  Twins world;
  world.sites.set_wan({.loss = 0.3, .delay = 10_ms});
  world.sites.gateway(preferred).want_drain(true, world.sites.now());
  world.run_for(5_s);
  EXPECT_EQ(world.last_move(), "site 1 to site 2");
  world.sites.restart(far);
  ASSERT_TRUE(world.sites.run_until([&] { return world.sites.is_up(); }, world.sites.now() + 30_s));
  world.moves.clear();
  world.run_for(5_s);
  EXPECT_TRUE(std::ranges::any_of(world.sites.state(far).peers, &site::PeerView::is_drain_wanted));
  EXPECT_EQ(world.last_move(), "site 1 to site 2");
}

TEST(Twins, take_over_from_one_that_dies_and_give_back_once_it_stays) {
  Twins world;
  world.sites.crash(preferred);
  world.run_for(3_s);  // long before the link is down
  EXPECT_EQ(world.last_move(), "site 1 to site 2");
  EXPECT_EQ(world.moves.back().why, gateway::Standing::Down);
  world.send(2000);
  world.run_for(2_s);
  EXPECT_EQ(world.came_by(other), 2000u);

  world.sites.start(preferred);
  ASSERT_TRUE(world.sites.run_until([&] { return world.sites.is_up(); }, world.sites.now() + 5_s));
  world.moves.clear();
  world.run_for(site::Steering::patience - 200_ms);
  EXPECT_EQ(world.last_move(), "none") << "it may go again";
  world.run_for(1_s);
  EXPECT_EQ(world.last_move(), "site 2 to site 1");
}

// It has been back for a moment only, and the preferred one is dead.
TEST(Twins, take_one_that_has_just_come_back_before_one_that_is_dead) {
  Twins world;
  for (const int twin : {preferred, other}) {
    world.sites.crash(twin);
    world.run_for(3_s);
  }
  EXPECT_EQ(world.last_move(), "site 2 to site 1") << "where none answers";
  world.sites.start(other);
  const auto is_back = [&] { return world.sites.state(far).peers[1].is_up; };
  ASSERT_TRUE(world.sites.run_until(is_back, world.sites.now() + 2_s));
  world.run_for(100_ms);
  EXPECT_EQ(world.last_move(), "site 1 to site 2");
  world.send(500);
  world.run_for(1_s);
  EXPECT_EQ(world.came_by(other), 500u);
}

// What a file says of live keys leaves routes where they are.
TEST(Twins, stay_where_they_are_when_live_keys_change) {
  Twins world;
  world.sites.gateway(preferred).want_drain(true, world.sites.now());
  world.run_for(500_ms);
  world.moves.clear();
  const std::string file = replaced(twins_files({})[far - 1], "prefer = 200", "prefer = 300");
  world.sites.seat(far).take_live_keys(file, world.sites.now());
  world.send(1000);
  world.run_for(2_s);
  EXPECT_EQ(world.last_move(), "none");
  EXPECT_EQ(world.came_by(other), 1000u);
}

}  // namespace
}  // namespace cw::sim
