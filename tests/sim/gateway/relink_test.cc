// Links in the place of others, since what both ends must have alike has changed: nobody has to be
// first, and no frame is lost.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/gateway/sites.h"

namespace cw::sim {
namespace {

using namespace literals;
using Phase = site::Relink::Phase;

const std::string two_classes =
    "[[class]]\nname = \"first\"\nmatch = [{ dscp = 46 }]\npolicy = \"selective_repeat\"\n"
    "[[class]]\nname = \"rest\"\npolicy = \"hybrid\"\n";

struct World {
  explicit World(const SiteText& before = {}, const Impairment& wan = {.delay = 10_ms},
                 int count = 2, bool serves_relinks = false)
      : sites({.seed = 8,
               .files = site_files(count, before),
               .wan = wan,
               .serves_relinks = serves_relinks}) {
    EXPECT_TRUE(sites.come_up());
  }
  /// From each site to the one after it, 80 Mbit/s of small and large packets.
  void send(Duration time, uint16_t number = 0) {
    for (int from = 1; from <= sites.count(); ++from) {
      send(static_cast<uint16_t>(number + from), from, from % sites.count() + 1, time);
    }
  }
  void send(uint16_t number, int from, int to, Duration time) {
    FlowOptions flow;
    flow.number = number;
    flow.kind = gateway::PacketKind::RoceRc;
    flow.from = from, flow.to = to;
    flow.bytes = 1000;
    flow.rate = 80_Mbps;
    flow.packets = static_cast<uint64_t>(time.seconds() * 10'000);
    flow.begin = sites.now();
    sent = flow.packets;
    sites.host(from).add_flow(flow);
  }
  void relink(int site, const SiteText& after) {
    const auto files = site_files(sites.count(), after);
    EXPECT_TRUE(sites.seat(site).relink(files[static_cast<size_t>(site - 1)], sites.now()));
  }
  void relink_all(const SiteText& after) {
    for (int site = 1; site <= sites.count(); ++site) relink(site, after);
  }
  Phase phase(int site) { return sites.gateway(site).relink().phase(); }
  bool are_done() {
    for (int site = 1; site <= sites.count(); ++site) {
      if (phase(site) != Phase::None || sites.gateway(site).plan_beside() != nullptr) return false;
    }
    return true;
  }
  /// Of the first two sites.
  bool wait_for_phases(Phase one, Phase two) {
    const auto are_so = [&] { return phase(1) == one && phase(2) == two; };
    return sites.run_until(are_so, sites.now() + 3_s);
  }
  bool wait_until_done(Duration within) {
    return sites.run_until([&] { return are_done(); }, sites.now() + within);
  }
  /// The most that site 1 has given to the WAN in a step of `time`.
  Rate most_in(Duration step, Duration time) {
    uint64_t before = sites.state(1).wan_port.tx_bytes, most = 0;
    for (const Instant end = sites.now() + time; sites.now() < end;) {
      sites.run_for(step);
      const uint64_t after = sites.state(1).wan_port.tx_bytes;
      most = std::max(most, after - std::exchange(before, after));
    }
    return Rate::from_bps(static_cast<uint64_t>(static_cast<double>(most * 8) / step.seconds()));
  }
  void expect_all() {
    for (int from = 1; from <= sites.count(); ++from) {
      const int to = from % sites.count() + 1;
      const auto report = sites.host(to).report(static_cast<uint16_t>(from));
      EXPECT_EQ(report.received, sent) << "from site " << from;
      EXPECT_EQ(report.wrong, 0u);
      EXPECT_EQ(report.doubled, 0u);
      EXPECT_EQ(report.overtaken, 0u);
      EXPECT_LE(report.delay_max, delay_max);
    }
  }
  /// And `rest` later everything has come.
  void expect_done(Duration within, Duration rest) {
    EXPECT_TRUE(wait_until_done(within));
    sites.run_for(rest);
    expect_all();
  }

  Sites sites;
  uint64_t sent = 0;
  Duration delay_max = 80_ms;  // three resends, or two and that a message ends
};

TEST(Relink, takes_what_both_ends_must_have_alike_without_losing_a_frame) {
  const std::pair<const char*, SiteText> changes[] = {
      {"mtu", {.pair = "mtu = 1200\n"}},
      {"rtt", {.rtt = "40 ms"}},
      {"rate", {.pair = "rate = \"300 Mbit/s\"\n"}},
      {"classes", {.classes = two_classes}},
  };
  for (const auto& [name, after] : changes) {
    SCOPED_TRACE(name);
    World world({}, {.loss = 0.01, .delay = 10_ms});
    world.send(6_s);
    world.sites.run_for(1_s);
    world.relink(1, after);
    world.sites.run_for(1_s);
    EXPECT_EQ(world.phase(1), Phase::Waiting);
    EXPECT_EQ(world.sites.gateway(1).relink().missing(), std::vector<std::string>{"site 2"});
    world.relink(2, after);
    world.expect_done(3_s, 4_s);
    EXPECT_TRUE(world.sites.is_up());
  }
}

// More is sent than the line carries: what waited on the first links goes before what is sent on
// the next.
TEST(Relink, leaves_the_order_of_what_waits_for_the_line) {
  const SiteText before{.rate = "80 Mbit/s", .pair = "rate = \"500 Mbit/s\"\n"};
  SiteText after = before;
  after.pair += "mtu = 1200\n";
  World world(before, {.loss = 0.01, .delay = 10_ms});
  world.send(5_s);
  world.sites.run_for(1_s);
  world.relink_all(after);
  EXPECT_LE(world.most_in(20_ms, 2_s), 110_Mbps) << "both sets have sent at once";
  EXPECT_TRUE(world.wait_until_done(1_s));
  world.sites.run_for(6_s);
  for (const int to : {1, 2}) {
    const auto report = world.sites.host(to).report(static_cast<uint16_t>(3 - to));
    EXPECT_GT(report.received, world.sent * 8 / 10);
    EXPECT_GT(report.delay_max, 50_ms) << "nothing has waited";
    EXPECT_EQ(report.overtaken, 0u);
    EXPECT_EQ(report.doubled, 0u);
  }
}

TEST(Relink, is_done_again_and_back) {
  World world({}, {.loss = 0.01, .delay = 10_ms});
  world.send(12_s);
  const SiteText before, after{.pair = "mtu = 1200\n"};
  for (const SiteText& text : {after, before, after}) {
    world.sites.run_for(500_ms);
    world.relink_all(text);
    EXPECT_TRUE(world.wait_until_done(3_s));
  }
  world.sites.run_for(10_s);
  world.expect_all();
}

TEST(Relink, of_several_links_on_two_cores) {
  SiteText before{.site = "cores = [0, 0]\n", .pair = "links = 4\n"};
  SiteText after = before;
  after.pair += "mtu = 1200\n";
  World world(before, {.loss = 0.01, .delay = 10_ms});
  world.send(5_s);
  world.sites.run_for(500_ms);
  world.relink_all(after);
  world.expect_done(3_s, 6_s);
}

TEST(Relink, of_several_links_leaves_their_rate_to_both_sets_together) {
  const SiteText before{.rate = "80 Mbit/s",
                        .site = "cores = [0, 0]\n",
                        .pair = "links = 4\nrate = \"500 Mbit/s\"\n"};
  SiteText after = before;
  after.pair += "mtu = 1200\n";
  World world(before, {.loss = 0.05, .delay = 10_ms});
  for (const uint16_t number : {0, 10, 20, 30}) world.send(5_s, number);
  world.sites.run_for(1_s);
  world.relink_all(after);
  EXPECT_LE(world.most_in(20_ms, 2_s), 110_Mbps) << "both sets have sent at once";
  EXPECT_TRUE(world.wait_until_done(3_s));
}

// Nothing that must be alike has changed: the peer is asked for links by what it has.
TEST(Relink, of_keys_of_one_end_asks_the_other_for_a_second_link) {
  for (const int first : {1, 2}) {
    World world({}, {.loss = 0.01, .delay = 10_ms});
    world.send(5_s);
    world.sites.run_for(500_ms);
    world.relink(first, {.classes = "[[class]]\nname = \"all\"\nfair = true\n"});
    const int other = 3 - first;
    const auto is_asked = [&] { return world.sites.state(other).peers[0].is_second_wanted; };
    EXPECT_TRUE(world.sites.run_until(is_asked, world.sites.now() + 2_s));
    EXPECT_EQ(world.phase(first), Phase::Waiting);
    EXPECT_FALSE(world.sites.state(other).peers[0].has_other_keys);
    world.relink(other, {});
    world.expect_done(3_s, 5_s);
    for (const int site : {1, 2}) EXPECT_EQ(world.sites.state(site).rooms[Counter::epochs], 2u);
  }
}

TEST(Relink, is_told_to_the_peer_that_lacks_the_keys) {
  World world;
  world.relink(1, {.pair = "mtu = 1200\n"});
  world.sites.run_for(1_s);
  EXPECT_TRUE(world.sites.state(2).peers[0].has_other_keys);
  EXPECT_FALSE(world.sites.state(2).peers[0].is_second_wanted);
  EXPECT_GT(world.sites.state(2).drops[DropReason::epoch_shape], 0u);
  world.sites.gateway(1).cancel_relink();
  world.sites.run_for(3_s);
  EXPECT_FALSE(world.sites.state(2).peers[0].has_other_keys);
}

// All of them wait for the last, and none is disturbed meanwhile.
TEST(Relink, of_three_sites_is_done_when_the_last_has_its_file) {
  World world({}, {.loss = 0.01, .delay = 10_ms}, 3);
  world.send(8_s);
  const SiteText after{.classes = two_classes};
  for (const int site : {3, 1, 2}) {
    EXPECT_EQ(world.sites.gateway(1).plan().classes.size(), 1u);
    world.relink(site, after);
    world.sites.run_for(1_s);
  }
  EXPECT_TRUE(world.wait_until_done(4_s));
  EXPECT_EQ(world.sites.gateway(1).plan().classes.size(), 2u);
  world.sites.run_for(6_s);
  world.expect_all();
}

// Who restarts begins by the next file, and finds the links that wait for it.
TEST(Relink, meets_a_peer_that_restarts_with_the_next_file) {
  World world;
  const SiteText after{.pair = "mtu = 1200\n"};
  world.relink_all(after);
  world.sites.restart(2);
  EXPECT_TRUE(world.wait_until_done(30_s));
  world.send(1_s);
  world.sites.run_for(3_s);
  world.expect_all();
}

// And who restarts with the file of before finds those that are still there.
TEST(Relink, goes_on_with_a_peer_that_restarts_with_the_file_of_before) {
  World world;
  world.relink(1, {.pair = "mtu = 1200\n"});
  world.sites.run_for(500_ms);
  world.sites.restart(2);
  const auto is_up = [&] { return world.sites.is_up(); };
  EXPECT_TRUE(world.sites.run_until(is_up, world.sites.now() + 2_s));
  world.sites.run_for(500_ms);
  world.send(1_s);
  world.sites.run_for(3_s);
  world.expect_all();
  EXPECT_EQ(world.phase(1), Phase::Waiting);
}

TEST(Relink, is_cancelled_while_it_waits) {
  World world;
  world.send(2_s);
  world.relink(1, {.pair = "mtu = 1200\n"});
  world.sites.run_for(500_ms);
  world.sites.gateway(1).cancel_relink();
  world.expect_done(1_s, 3_s);
}

/// Sites 1 and 2 have the next links. Site 3 has not, and is out of reach for site 2 alone: so that
/// has gone over, and site 1 waits.
struct HalfMoved : World {
  HalfMoved() : World({}, {.loss = 0.01, .delay = 10_ms}, /*count=*/3) {
    for (const WanRoute& way : {WanRoute{2, 3, 0}, WanRoute{3, 2, 0}}) {
      sites.set_wan(way, {.loss = 1, .delay = 10_ms});
    }
    sites.run_for(4_s);
    const SiteText next{.pair = "mtu = 1200\n"};
    relink(1, next);
    relink(2, next);
    EXPECT_TRUE(wait_for_phases(Phase::Waiting, Phase::Moved));
    send(1, 1, 2, 20_s);
    send(2, 2, 1, 20_s);
    sites.run_for(1_s);
  }
  bool wait_for(int site, Phase wanted) {
    return sites.run_until([&] { return phase(site) == wanted; }, sites.now() + 5_s);
  }
  void expect_both() {
    sites.run_for(22_s);
    for (const int from : {1, 2}) {
      const auto report = sites.host(3 - from).report(static_cast<uint16_t>(from));
      EXPECT_EQ(report.received, sent) << "from site " << from;
      EXPECT_EQ(report.doubled, 0u);
      EXPECT_LE(report.delay_max, 250_ms);
    }
  }
};

TEST(Relink, is_cancelled_after_a_peer_has_gone_over) {
  HalfMoved world;
  world.sites.gateway(1).cancel_relink();
  EXPECT_TRUE(world.wait_for(1, Phase::None));
  EXPECT_EQ(world.phase(2), Phase::Moved);
  world.expect_both();
}

TEST(Relink, turns_where_it_has_gone_over) {
  for (const bool is_cancelled_there : {false, true}) {
    SCOPED_TRACE(is_cancelled_there);
    HalfMoved world;
    if (is_cancelled_there) world.sites.gateway(1).cancel_relink();
    world.sites.run_for(is_cancelled_there ? 3_s : 0_s);
    EXPECT_TRUE(world.sites.gateway(2).try_turn_relink());
    EXPECT_TRUE(world.wait_for(2, Phase::None));
    EXPECT_EQ(world.phase(1), is_cancelled_there ? Phase::None : Phase::Waiting);
    world.expect_both();
  }
}

TEST(Relink, does_not_turn_where_both_would_be_taken_for_each_other) {
  World world({}, {.delay = 10_ms}, /*count=*/2, /*serves_relinks=*/true);
  world.relink(1, {.classes = "[[class]]\nname = \"all\"\nfair = true\n"});
  EXPECT_FALSE(world.sites.gateway(1).try_turn_relink()) << "it waits";
  const auto has_moved = [&] { return world.phase(1) == Phase::Moved; };
  ASSERT_TRUE(world.sites.run_until(has_moved, world.sites.now() + 3_s));
  EXPECT_FALSE(world.sites.gateway(1).try_turn_relink());
}

TEST(Relink, does_not_turn_where_a_peer_answers_by_what_carries_alone) {
  World world;
  world.relink_all({.pair = "mtu = 1200\n"});
  ASSERT_TRUE(world.wait_for_phases(Phase::Moved, Phase::Moved));
  world.sites.crash(2);
  world.sites.start(2);  // by the next file
  world.sites.run_for(1_s);
  ASSERT_TRUE(world.sites.is_up());
  ASSERT_EQ(world.phase(1), Phase::Moved);
  EXPECT_FALSE(world.sites.gateway(1).try_turn_relink());
  EXPECT_TRUE(world.wait_until_done(5_s));
}

// Site 1 has both, and takes what it gets.
TEST(Relink, turns_twice) {
  HalfMoved world;
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_TRUE(world.sites.gateway(2).try_turn_relink());
    world.sites.run_for(50_ms);
    EXPECT_EQ(world.phase(2), Phase::Waiting);
    EXPECT_TRUE(world.wait_for(2, Phase::Moved));
    world.sites.run_for(400_ms);
  }
  world.expect_both();
  EXPECT_EQ(world.phase(1), Phase::Waiting);
  EXPECT_EQ(world.phase(2), Phase::Moved);
}

// The newer links of who is not through are up with the only ones of the peer's next life, which
// are older ones then.
TEST(Relink, of_a_peers_next_life_waits_until_those_of_before_are_through) {
  const SiteText fair{.classes = "[[class]]\nname = \"all\"\nfair = true\n"};
  World world({}, {.loss = 0.01, .delay = 10_ms}, /*count=*/2, /*serves_relinks=*/true);
  world.relink(1, fair);
  ASSERT_TRUE(world.wait_for_phases(Phase::Moved, Phase::Moved));
  world.sites.crash(2);
  world.sites.run_for(20_ms);
  world.sites.start(2);
  ASSERT_TRUE(world.sites.run_until([&] { return world.sites.is_up(); }, world.sites.now() + 1_s));
  ASSERT_EQ(world.phase(1), Phase::Moved);
  world.delay_max = 200_ms;  // the life of before might still bring something
  world.send(10_s);
  world.relink(2, {});
  EXPECT_TRUE(world.wait_until_done(8_s));
  const uint64_t epochs = world.sites.state(2).rooms[Counter::epochs];
  world.sites.run_for(8_s);
  world.expect_all();
  EXPECT_TRUE(world.are_done());
  EXPECT_EQ(world.sites.state(2).rooms[Counter::epochs], epochs) << "nobody is asked once more";
}

TEST(Relink, says_what_links_beside_others_cannot_have) {
  World world;
  const auto complaint = [&](const SiteText& text) {
    site::Plan next = plan_of(site_files(2, text)[0]);
    const auto found = world.sites.gateway(1).misfits(next);
    return found.empty() ? "" : found.front().key + ": " + found.front().why;
  };
  EXPECT_EQ(complaint({.pair = "mtu = 1200\n"}), "");
  EXPECT_EQ(complaint({.pair = "mtu = 9000\n"}).substr(0, 10), "pair.mtu: ");
  EXPECT_EQ(complaint({.wan = "paths = 4\n"}).substr(0, 11), "wan.paths: ");
  EXPECT_EQ(complaint({.pair = "links = 2\n"}).substr(0, 12), "pair.links: ");
}

}  // namespace
}  // namespace cw::sim
