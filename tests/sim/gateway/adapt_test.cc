// Classes that adapt, while the line between two sites changes.
#include <unistd.h>

#include <filesystem>

#include "control/gateway/site/care/bars.h"
#include "policies/policies.h"
#include "tests/sim/gateway/adapt_world.h"

namespace cw::sim {
namespace {

using namespace literals;
using Carried = site::SiteAdapt::Carried;

constexpr Weather fine{"fine"}, bad{"bad", 0.01, 3};
/// A change is over when what it replaced has no messages left: hold and two round trips.
constexpr Duration drain = 490_ms;

size_t count(const AdaptSites::Decisions& decided, Carried carried) {
  return static_cast<size_t>(std::ranges::count(decided, carried, &SiteSeat::Decided::carried));
}

TEST(Adapts, and_sends_as_little_again_a_minute_after_the_line_has_healed) {
  AdaptSites world(adaptive_class());
  world.begin_transfers();
  world.run(fine, 10_s);
  const double before = world.sent_for(5_s);
  world.run(bad, 20_s);
  EXPECT_EQ(world.sends(), "erasure") << world.story();
  EXPECT_GT(world.sent_for(5_s), before * 1.2);
  world.run(fine, 60_s + drain * 3);
  EXPECT_EQ(world.sends(), "selective_repeat") << world.story();
  EXPECT_NEAR(world.sent_for(5_s), before, 0.01);
}

TEST(Adapts, within_a_second_when_the_line_becomes_bad) {
  AdaptSites world(adaptive_class());
  world.begin_transfers();
  world.run(fine, 30_s);
  ASSERT_TRUE(world.decided().empty()) << world.story();
  world.run(bad, 1_s);
  EXPECT_EQ(world.sends(), "erasure") << world.story();
}

TEST(Adapts, only_in_words_in_a_dry_run) {
  AdaptSites world(adaptive_class("dry_run = true\n"));
  world.begin_transfers();
  world.run(bad, 20_s);
  world.run(fine, 70_s);
  EXPECT_EQ(world.sends(), "selective_repeat");
  EXPECT_GE(count(world.decided(), Carried::Dry), 2u) << world.story();
  EXPECT_LE(count(world.decided(), Carried::Dry), 8u) << "each once: " << world.story();
  EXPECT_EQ(count(world.decided(), Carried::Ordered), 0u);
  const auto views = world.sites().seat(1).adapt().views();
  ASSERT_EQ(views.size(), 1u);
  EXPECT_EQ(views[0].state, site::AdaptView::State::DryRun);
  EXPECT_EQ(views[0].raised + views[0].lowered, world.decided().size());
}

TEST(Adapts, not_while_somebody_has_ordered_otherwise) {
  AdaptSites world(adaptive_class());
  world.begin_transfers();
  site::SiteAdapt& adapt = world.sites().seat(1).adapt();
  world.run(fine, 1_s);
  adapt.hold(0, std::nullopt);
  world.run(bad, 10_s);
  EXPECT_TRUE(world.decided().empty()) << world.story();
  EXPECT_EQ(adapt.views()[0].state, site::AdaptView::State::Held);
  adapt.resume(0, 0);
  world.run(bad, 2_s);
  EXPECT_EQ(world.sends(), "erasure") << world.story();
}

/// Where the other site takes one code alone, each other one is asked for once.
TEST(Adapts, to_what_the_other_site_takes) {
  const std::string folder = testing::TempDir() + "adapts_" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  const adapt::AdaptPlan plan{.policies = {cw_policy_erasure()}};
  {
    plugins::Registry registry;
    site::Bars bars(registry);
    ASSERT_TRUE(bars.keep_in(folder));
    for (const model::Plan& each : adapt::candidates_of(plan)) {
      if (adapt::name_of(each) != "erasure (32,6)") bars.add({each.policy, each.params});
    }
  }
  std::vector<std::string> files = site_files(2, {.rtt = "25 ms", .classes = adaptive_class()});
  const std::string begin = "[site]\n";
  files[1].insert(files[1].find(begin) + begin.size(), "state_folder = \"" + folder + "\"\n");
  AdaptSites world(files, {});
  world.begin_transfers();
  world.run({"lossy", 0.003}, 60_s);
  std::filesystem::remove_all(folder);
  const auto views = world.sites().seat(1).adapt().views();
  EXPECT_NE(views[0].present.find("m=6"), std::string::npos) << world.story();
  EXPECT_GE(views[0].refused, 1u) << world.story();
  const size_t before = world.decided().size();
  EXPECT_LE(before, 12u) << world.story();
  world.run({"lossy", 0.003}, 120_s);
  EXPECT_EQ(world.decided().size(), before) << world.story();
}

/// More is lost because more is sent than the line carries: sending more would not help.
TEST(Adapts, not_where_packets_queue) {
  AdaptSites world(adaptive_class());
  Impairment narrow{.rate = Rate::from_mbps(100), .delay = 12'500_us};
  narrow.queue_time = 40_ms;
  world.sites().set_wan(narrow);
  FlowOptions flow;
  flow.kind = gateway::PacketKind::Udp;
  flow.bytes = 1400;
  flow.rate = Rate::from_mbps(200);
  flow.packets = UINT32_MAX;
  flow.begin = world.sites().now();
  world.sites().host(1).add_flow(flow);
  world.sites().run_for(30_s);
  const uint64_t lost = world.sites().state(1).peers[0].there.lost;
  EXPECT_GT(lost, 10u) << "of what overflowed before the rate had been found";
  size_t raised = 0;
  for (const auto& each : world.decided()) raised += each.answer.decision.is_raise ? 1 : 0;
  EXPECT_EQ(raised, 0u) << world.story();
}

/// An hour each, at a loss where one choice is about as good as the next.
TEST(Adapts, seldom_at_a_border_between_two_choices) {
  for (const Weather& border : {Weather{"resend or code", 1.2e-5}, Weather{"one or two", 3e-4},
                                Weather{"eight or twelve", 9e-3, 3}}) {
    SCOPED_TRACE(border.name);
    AdaptSites world(adaptive_class(), {.every = 200_ms, .begin = border});
    world.begin_transfers();
    const TransferTimes times = world.run(border, Duration::from_s(3600));
    EXPECT_EQ(times.broken(), 0u);
    EXPECT_LE(world.decided().size(), 20u) << world.story();
  }
}

TEST(Adapts, three_classes_in_both_directions_at_once) {
  std::string classes;
  for (int i = 1; i <= 3; ++i) {
    const std::string match = i < 3 ? "match = [{dscp = " + std::to_string(i) + "}]\n" : "";
    const char* const aims[] = {"tail", "mean", "goodput"};
    classes += "[[class]]\nname = \"c" + std::to_string(i) + "\"\n" + match +
               "policy = \"adaptive\"\naim = \"" + aims[i - 1] + "\"\ntransfer = \"64 KiB\"\n";
  }
  AdaptSites world(classes);
  for (const int from : {1, 2}) {
    for (uint8_t i = 1; i <= 3; ++i) {
      world.begin_transfers(from, static_cast<uint16_t>(from * 10 + i), i < 3 ? i : uint8_t{0});
    }
  }
  world.run({"lossy", 0.005, 2}, 30_s);
  const size_t before = world.decided(1).size() + world.decided(2).size();
  EXPECT_GE(before, 6u);
  world.run({"lossy", 0.005, 2}, 90_s);
  const size_t later = world.decided(1).size() + world.decided(2).size() - before;
  EXPECT_LE(later, 6u) << world.story(1) << world.story(2);
  for (size_t pair = 0; pair < 6; ++pair) {
    EXPECT_EQ(world.times(pair, 0, world.begun(pair) - 50).broken(), 0u) << pair;
  }
}

/// What a link was swapped to holds in its next epoch; the one that restarts begins anew.
TEST(Adapts, across_restarts_of_either_site) {
  AdaptSites world(adaptive_class());
  world.begin_transfers();
  world.run(bad, 10_s);
  ASSERT_EQ(world.sends(), "erasure") << world.story();
  world.sites().restart(2);
  world.run(bad, 10_s);
  EXPECT_EQ(world.sends(), "erasure") << world.story();
  world.sites().restart(1);
  world.run(bad, 10_s);
  EXPECT_EQ(world.sends(), "erasure") << world.story();
}

}  // namespace
}  // namespace cw::sim
