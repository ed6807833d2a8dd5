// Live keys of a site that runs: what each changes, and that the epoch goes on.
#include "tests/sim/gateway/sites.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace cw::sim {
namespace {

using gateway::PacketKind;
using namespace literals;

constexpr Duration one_way = Duration::from_ms(10);

const std::string two_classes =
    "[[class]]\nname = \"one\"\nmatch = [{ dscp = 1 }]\nhold = \"500 ms\"\n"
    "[[class]]\nname = \"all\"\nhold = \"500 ms\"\n";

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from << " in " << text;
  return text.replace(at, from.size(), to);
}

class LiveKeys : public testing::Test {
 protected:
  void begin(const SiteText& text, const Impairment& wan = {.delay = one_way}) {
    files_ = site_files(2, text);
    sites_.emplace(SitesOptions{.seed = 11, .files = files_, .wan = wan});
    ASSERT_TRUE(sites_->come_up());
  }
  void TearDown() override {
    if (!sites_) return;
    const uint64_t epochs = sites_->links();
    for (const int site : {1, 2}) EXPECT_EQ(sites_->state(site).rooms[Counter::epochs], epochs);
  }
  /// At one site; the other's file is as it was.
  void change(std::string_view from, std::string_view to, int site = 1) {
    std::string& file = files_[static_cast<size_t>(site - 1)];
    file = replaced(file, from, to);
    sites_->seat(site).take_live_keys(file, sites_->now());
  }
  FlowOptions flow(uint16_t number, uint8_t dscp = 0) const {
    FlowOptions options;
    options.number = number;
    options.dscp = dscp;
    options.rate = 100_Mbps;
    options.packets = UINT64_MAX;
    options.begin = sites_->now();
    return options;
  }
  uint64_t received(uint16_t number) { return sites_->host(2).report(number).received; }
  /// Packets of a flow that arrive in `time` from now on.
  uint64_t arrive(uint16_t number, Duration time) {
    const uint64_t before = received(number);
    sites_->run_for(time);
    return received(number) - before;
  }
  uint64_t lane_sent(size_t index) { return sites_->state(1).lanes[index].sent; }

  std::vector<std::string> files_;
  std::optional<Sites> sites_;
};

TEST_F(LiveKeys, rate_is_what_leaves) {
  begin({.rate = "80 Mbit/s"});
  sites_->host(1).add_flow(flow(1));
  sites_->run_for(1_s);
  const uint64_t at_80 = arrive(1, 1_s);
  change("80 Mbit/s", "20 Mbit/s");
  sites_->run_for(1_s);
  const uint64_t at_20 = arrive(1, 1_s);
  change("20 Mbit/s", "60 Mbit/s");
  sites_->run_for(1_s);
  const uint64_t at_60 = arrive(1, 1_s);
  EXPECT_NEAR(static_cast<double>(at_20), static_cast<double>(at_80) / 4, at_80 / 50.0);
  EXPECT_NEAR(static_cast<double>(at_60), static_cast<double>(at_80) * 3 / 4, at_80 / 50.0);
}

TEST_F(LiveKeys, rate_of_links_that_share_it_is_that_of_all_together) {
  begin({.rate = "80 Mbit/s", .site = "cores = [0, 0]\n", .pair = "links = 2\n"});
  for (uint16_t i = 1; i <= 8; ++i) sites_->host(1).add_flow(flow(i));
  sites_->run_for(1_s);
  const auto all_arrive = [this] {
    const uint64_t before = sites_->host(2).received_count();
    sites_->run_for(1_s);
    return static_cast<double>(sites_->host(2).received_count() - before);
  };
  const double at_80 = all_arrive();
  change("80 Mbit/s", "40 Mbit/s");
  sites_->run_for(1_s);
  EXPECT_NEAR(all_arrive(), at_80 / 2, at_80 / 25);
}

TEST_F(LiveKeys, weight_divides_the_line_anew) {
  begin({.rate = "50 Mbit/s", .classes = two_classes});
  sites_->host(1).add_flow(flow(1, 1));
  sites_->host(1).add_flow(flow(2, 0));
  sites_->run_for(1_s);
  const auto ratio = [this] {
    const uint64_t one = received(1), other = received(2);
    sites_->run_for(1_s);
    return static_cast<double>(received(1) - one) / static_cast<double>(received(2) - other);
  };
  EXPECT_NEAR(ratio(), 1, 0.05);
  change("hold = \"500 ms\"\n[[class]]", "hold = \"500 ms\"\nweight = 4\n[[class]]");
  sites_->run_for(1_s);
  EXPECT_NEAR(ratio(), 4, 0.2);
}

TEST_F(LiveKeys, match_takes_what_comes_next) {
  begin({.classes = two_classes});
  FlowOptions options = flow(1, 1);
  options.rate = 10_Mbps;
  sites_->host(1).add_flow(options);
  sites_->run_for(500_ms);
  EXPECT_GT(lane_sent(0), 0u);
  EXPECT_EQ(lane_sent(1), 0u);
  change("dscp = 1", "dscp = 2");
  const uint64_t before = lane_sent(0);
  sites_->run_for(500_ms);
  EXPECT_EQ(lane_sent(0), before);
  EXPECT_GT(lane_sent(1), 0u);
  sites_->host(1).stop();
  sites_->run_for(500_ms);
  const FlowReport& report = sites_->host(2).report(1);
  EXPECT_EQ(report.received, report.next) << "nothing was lost between the classes";
  EXPECT_EQ(report.wrong + report.doubled, 0u);
}

TEST_F(LiveKeys, order_is_kept_from_there_on) {
  const std::string always =
      replaced(two_classes, "name = \"one\"\n", "name = \"one\"\norder = \"never\"\n");
  begin({.classes = always}, {.loss = 0.02, .delay = one_way});
  FlowOptions options = flow(1, 1);
  options.rate = 10_Mbps;
  sites_->host(1).add_flow(options);
  sites_->run_for(1_s);
  EXPECT_GT(sites_->host(2).report(1).overtaken, 0u);
  change("never", "always");
  sites_->run_for(500_ms);  // who was sent before waits for nobody
  const uint64_t before = sites_->host(2).report(1).overtaken;
  sites_->run_for(1_s);
  EXPECT_EQ(sites_->host(2).report(1).overtaken, before);
}

/// A blackout is outlived by whoever holds for longer.
TEST_F(LiveKeys, hold_is_how_long_is_tried) {
  begin({.classes = two_classes});
  FlowOptions options = flow(1);
  options.rate = 10_Mbps;
  sites_->host(1).add_flow(options);
  const auto lost_in_a_blackout = [&] {
    sites_->run_for(500_ms);
    const uint64_t lost = sites_->host(2).report(1).next - received(1);
    Impairment dark{.delay = one_way};
    dark.blackout = {.start = sites_->now(), .length = 250_ms, .period = {}};
    sites_->set_wan({1, 2}, dark);
    sites_->run_for(1500_ms);
    return sites_->host(2).report(1).next - received(1) - lost;
  };
  EXPECT_LE(lost_in_a_blackout(), 20u);  // on their way: the last are not in yet
  change("name = \"all\"\nhold = \"500 ms\"", "name = \"all\"\nhold = \"120 ms\"");
  EXPECT_GT(lost_in_a_blackout(), 50u);
  change("name = \"all\"\nhold = \"120 ms\"", "name = \"all\"\nhold = \"500 ms\"");
  EXPECT_LE(lost_in_a_blackout(), 20u);
}

TEST_F(LiveKeys, mark_is_told_in_place_of_a_drop) {
  const std::string marks =
      replaced(two_classes, "name = \"all\"\n", "name = \"all\"\nmark = false\n");
  begin({.rate = "20 Mbit/s", .classes = marks});
  FlowOptions options = flow(1);
  options.kind = PacketKind::Tcp;
  options.rate = 24_Mbps;
  options.ecn = 2;
  sites_->host(1).add_flow(options);
  sites_->run_for(3_s);
  EXPECT_EQ(sites_->state(1).rooms[Counter::lan_marked], 0u);
  EXPECT_GT(sites_->state(1).drops[DropReason::wan_queue_codel], 0u);
  change("mark = false", "mark = true");
  sites_->run_for(3_s);
  EXPECT_GT(sites_->host(2).report(1).marked, 0u);
}

TEST_F(LiveKeys, queue_is_how_much_may_wait) {
  begin({.rate = "20 Mbit/s", .classes = two_classes});
  sites_->host(1).add_flow(flow(1));
  const auto waits = [this] {
    sites_->run_for(2_s);
    return sites_->host(2).report(1).delays.back();
  };
  const Duration before = waits();
  change("name = \"all\"\n", "name = \"all\"\nqueue = \"10 ms\"\n");
  const Duration after = waits();
  EXPECT_GT(before, after + 20_ms);
}

TEST_F(LiveKeys, a_rehearsal_begins_and_ends) {
  begin({.wan = "impair = { loss = 0 }\n"});
  FlowOptions options = flow(1);
  options.rate = 10_Mbps;
  sites_->host(1).add_flow(options);
  sites_->run_for(500_ms);
  const auto lost = [this] { return sites_->state(1).impaired[0].lost_total(); };
  EXPECT_EQ(lost(), 0u);
  change("loss = 0", "loss = 0.1");
  sites_->run_for(500_ms);
  const uint64_t rehearsed = lost();
  EXPECT_GT(rehearsed, 10u);
  change("impair = { loss = 0.1 }", "");
  sites_->run_for(500_ms);
  EXPECT_EQ(lost(), rehearsed);
  sites_->host(1).stop();
  sites_->run_for(500_ms);
  EXPECT_EQ(received(1), sites_->host(2).report(1).next);
}

/// What is a site's own needs no word from the other.
TEST_F(LiveKeys, change_while_a_link_is_down) {
  begin({.rate = "80 Mbit/s"});
  sites_->crash(2);
  sites_->run_for(100_ms);
  change("80 Mbit/s", "20 Mbit/s");
  sites_->start(2);
  ASSERT_TRUE(sites_->come_up(20_s));
  sites_->host(1).add_flow(flow(1));
  sites_->run_for(1_s);
  const double bits = static_cast<double>(arrive(1, 1_s)) * 8000;
  EXPECT_LT(bits, 20e6);
  EXPECT_GT(bits, 15e6);
  EXPECT_EQ(sites_->state(1).rooms[Counter::epochs], 2u);
  sites_.reset();
}

}  // namespace
}  // namespace cw::sim
