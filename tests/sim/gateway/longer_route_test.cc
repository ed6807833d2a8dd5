// A route that is up to four times as long as pair.rtt says, from the start or from mid-stream on:
// sites made from their files keep up, and lose nothing that there is room to keep.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "tests/sim/gateway/sites.h"

namespace cw::sim {
namespace {

using gateway::PacketKind;

constexpr uint32_t frame_bytes = 1400;
constexpr Rate line_rate = Rate::from_mbps(500);
constexpr Duration stream_time = Duration::from_s(3);
// At 1 % one slot of a million is lost three times, for which hold has no time over the longest
// route; two frames share a slot.
constexpr uint64_t frames_out_of_hold = 4;

struct Route {
  std::string name, policy;
  double overhead = 0;  ///< repair slots for each data slot, at most
  Duration configured{}, begins_with{}, grows_to{};
  uint64_t seed = 1;

  friend void PrintTo(const Route& it, std::ostream* out) { *out << it.name; }
};

Impairment line_of(Duration rtt) {
  Impairment line{.rate = line_rate, .loss = 0.01, .delay = rtt / 2};
  line.queue_time = Duration::from_ms(100);
  return line;
}

/// Four fifths of what headers and repair leave.
Rate offered_rate(const Route& route) {
  constexpr double slot_share = double{frame_bytes} / (frame_bytes + 8), packet_share = 0.94;
  return line_rate.scaled(0.8 * slot_share * packet_share / (1 + route.overhead));
}

std::string drops_of(const site::SiteState& state) {
  std::string text;
  for (size_t i = 0; i < drop_reason_count; ++i) {
    const auto reason = static_cast<DropReason>(i);
    if (state.drops[reason] == 0) continue;
    text += std::string(name_of(reason)) + " " + std::to_string(state.drops[reason]) + ", ";
  }
  return text;
}

class LongerRoute : public testing::TestWithParam<Route> {};

TEST_P(LongerRoute, costs_no_frame_and_few_resends) {
  const Route& route = GetParam();
  SiteText text;
  text.rtt = std::to_string(static_cast<int>(route.configured.ms())) + " ms";
  text.classes = "[[class]]\nname = \"all\"\npolicy = \"" + route.policy + "\"\n";
  Sites sites(
      {.seed = route.seed, .files = site_files(2, text), .wan = line_of(route.begins_with)});
  ASSERT_TRUE(sites.come_up(Duration::from_s(5)));
  sites.run_for(route.begins_with * 10);
  FlowOptions flow{.kind = PacketKind::Udp, .bytes = frame_bytes, .rate = offered_rate(route)};
  flow.begin = sites.now();
  flow.packets = flow.rate.bytes_in(stream_time).count() / frame_bytes;
  sites.host(1).add_flow(flow);
  sites.run_for(stream_time / 3);
  sites.set_wan(line_of(route.grows_to));
  sites.run_for(stream_time + route.grows_to * 10);

  const FlowReport& report = sites.host(2).report(1);
  const site::SiteState near = sites.state(1);
  const std::string drops = "site 1: " + drops_of(near) + "site 2: " + drops_of(sites.state(2));
  const uint64_t lost = sites.wan_counters({1, 2}).lost_total();
  const uint64_t slots = near.rooms[Counter::data_sent], resent = near.rooms[Counter::resends_sent];
  std::printf("sent %lu received %lu slots %lu lost %lu resent %lu; %s\n", flow.packets,
              report.received, slots, lost, resent, drops.c_str());
  EXPECT_GE(report.received + frames_out_of_hold, flow.packets) << drops;
  EXPECT_EQ(near.drops.sum() - near.drops[DropReason::epoch_stale], 0u) << drops;
  EXPECT_EQ(report.wrong + report.doubled, 0u);
  EXPECT_LE(resent, lost + std::max(lost / 20, slots / 1000)) << drops;
}

// What is lost of the faster way is known before what left earlier has come by the slower one.
TEST(UnlikeWays, cost_few_resends) {
  SiteText text;
  text.wan = "paths = 2\n";
  text.classes = "[[class]]\nname = \"all\"\npolicy = \"selective_repeat\"\n";
  Sites sites({.seed = 1, .files = site_files(2, text), .wan = line_of(Duration::from_ms(13))});
  for (const WanRoute& way : {WanRoute{1, 2, 0}, WanRoute{2, 1, 0}}) {
    sites.set_wan(way, line_of(Duration::from_ms(9)));
  }
  ASSERT_TRUE(sites.come_up(Duration::from_s(5)));
  FlowOptions flow{.kind = PacketKind::Udp, .bytes = frame_bytes, .rate = Rate::from_mbps(200)};
  flow.begin = sites.now();
  flow.packets = flow.rate.bytes_in(stream_time).count() / frame_bytes;
  sites.host(1).add_flow(flow);
  sites.run_for(stream_time * 2);

  const site::SiteState near = sites.state(1);
  const uint64_t lost =
      sites.wan_counters({1, 2, 0}).lost_total() + sites.wan_counters({1, 2, 1}).lost_total();
  EXPECT_EQ(sites.host(2).report(1).received, flow.packets);
  EXPECT_GT(lost, 100u);
  EXPECT_LE(near.rooms[Counter::resends_sent], lost + lost / 20);
}

std::vector<Route> routes() {
  std::vector<Route> rows;
  const auto ms = [](int count) { return Duration::from_ms(count); };
  const auto add = [&](const char* policy, double overhead) {
    const std::string name = policy;
    rows.push_back({name + "_four_times_as_long", policy, overhead, ms(20), ms(80), ms(80)});
    rows.push_back({name + "_grows_to_four_times", policy, overhead, ms(20), ms(20), ms(80)});
    rows.push_back({name + "_around_the_globe", policy, overhead, ms(100), ms(400), ms(400)});
    rows.push_back({name + "_within_a_town", policy, overhead, ms(1), ms(4), ms(4)});
  };
  add("selective_repeat", 0);
  add("erasure", 0.25);
  add("hybrid", 0.25);
  add("layered_interleave", 0.375);
  for (Route& row : rows) row.seed = static_cast<uint64_t>(&row - rows.data()) + 1;
  return rows;
}

INSTANTIATE_TEST_SUITE_P(Every, LongerRoute, testing::ValuesIn(routes()),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace cw::sim
