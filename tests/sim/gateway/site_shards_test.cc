// Sites of several cores: each shard has links, ports and rooms of its own, and all of them
// together are one site.
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "dataplane/port/impair/packet.h"
#include "tests/sim/gateway/sites.h"

namespace cw::sim {
namespace {

using gateway::PacketKind;
using namespace literals;

constexpr uint16_t flows_each_way = 40;

/// Cores on one processor, which are as many shards; `links` of the pair.
std::string file_of(int site, size_t cores, int links, SiteText text = {}) {
  std::string row;
  for (size_t i = 0; i < cores; ++i) row += i == 0 ? "0" : ", 0";
  text.site += cores == 1 ? "core = 0\n" : "cores = [" + row + "]\n";
  text.pair += "links = " + std::to_string(links) + "\n";
  return site_files(2, text)[static_cast<size_t>(site - 1)];
}

FlowOptions flow_of(const Sites& sites, int from, uint16_t number) {
  FlowOptions flow;
  flow.kind = number % 4 == 0 ? PacketKind::Udp : PacketKind::Tcp;
  flow.is_v6 = number % 4 == 1;
  flow.number = number;
  flow.rate = 4_Mbps;
  flow.packets = 400;
  flow.begin = sites.now();
  flow.from = static_cast<uint8_t>(from);
  flow.to = static_cast<uint8_t>(3 - from);
  return flow;
}

void expect_all_shards_busy(const site::SiteState& state, size_t count) {
  ASSERT_EQ(state.shards.size(), count);
  uint64_t in = 0, out = 0;
  for (const site::ShardView& each : state.shards) {
    for (const uint64_t packets : {each.from_lan, each.to_lan, each.from_wan, each.to_wan}) {
      EXPECT_GT(packets, 200u);
    }
    in += each.from_lan;
    out += each.to_lan;
  }
  EXPECT_EQ(state.lan_port.rx_packets, in);
  EXPECT_EQ(state.lan_port.tx_packets, out);
}

TEST(SiteShards, of_unequal_numbers_carry_each_flow_in_its_order) {
  SiteText text;
  text.classes =
      "[[class]]\nname = \"udp\"\nmatch = [{kind = \"udp\"}]\n[[class]]\nname = \"all\"\n";
  for (const auto& [first, second] : {std::array<size_t, 2>{2, 2}, {1, 4}, {2, 3}}) {
    SCOPED_TRACE(std::to_string(first) + " and " + std::to_string(second));
    const int links = first == 2 && second == 3 ? 6 : static_cast<int>(second);
    Sites sites({.seed = first * 10 + second,
                 .files = {file_of(1, first, links, text), file_of(2, second, links, text)},
                 .wan = {.loss = 0.01, .delay = 5_ms}});
    ASSERT_TRUE(sites.come_up());
    EXPECT_EQ(sites.state(1).peers.size(), static_cast<size_t>(links));
    for (const int from : {1, 2}) {
      for (uint16_t i = 0; i < flows_each_way; ++i) {
        const auto number = static_cast<uint16_t>(from * 100 + i);
        sites.host(from).add_flow(flow_of(sites, from, number));
      }
    }
    sites.run_for(1500_ms);
    for (const int from : {1, 2}) {
      for (uint16_t i = 0; i < flows_each_way; ++i) {
        const auto number = static_cast<uint16_t>(from * 100 + i);
        const FlowReport& report = sites.host(3 - from).report(number);
        EXPECT_EQ(report.received, 400u) << number;
        EXPECT_EQ(report.wrong + report.doubled, 0u);
        if (number % 4 != 0) {
          EXPECT_EQ(report.overtaken, 0u) << number;
        }
      }
    }
    const site::SiteState one = sites.state(1), two = sites.state(2);
    EXPECT_EQ(one.drops.sum() + two.drops.sum(), 0u);
    expect_all_shards_busy(one, first);
    expect_all_shards_busy(two, second);
    for (const gateway::LaneView& lane : one.lanes) EXPECT_TRUE(lane.inbound.is_balanced());
    const auto by_class = [](const gateway::LaneView& lane) { return lane.class_index; };
    EXPECT_TRUE(std::ranges::is_sorted(one.lanes, {}, by_class)) << "links of a class in a row";
  }
}

/// What a site puts on the wire, all of its shards, in windows of 10 ms.
struct WireMeter final : WanTap {
  static constexpr Duration window = Duration::from_ms(10);
  explicit WireMeter(int site_given) : site(site_given) {}
  void on_sent(const WanEnd& end, const Packet& packet, Instant now) override {
    const Instant at = std::max(now, packet.at);
    if (end.site != site || at < begin) return;
    const auto index = static_cast<size_t>((at - begin) / window);
    if (bytes.size() <= index) bytes.resize(index + 1);
    bytes[index] += packet.bytes + packet.payload_bytes + overhead;
  }
  void on_received(const WanEnd&, const Packet&, Instant) override {}
  int site;
  uint64_t overhead = 0;
  Instant begin = Instant::never();
  std::vector<uint64_t> bytes;
};

/// Windows, of the rate, when `flows` send together `times` what it carries.
std::vector<double> loads(uint16_t flows, double times) {
  constexpr Rate rate = 200_Mbps;
  WireMeter meter(1);
  SiteText text{.rate = "200 Mbit/s"};
  text.wan = "adapt = false\n";
  Sites sites({.seed = 77,
               .files = {file_of(1, 4, 4, text), file_of(2, 4, 4, text)},
               .wan = {.delay = 5_ms},
               .tap = &meter});
  EXPECT_TRUE(sites.come_up());
  meter.overhead = sites.seat(1).plan().peers[0].pacer.packet_overhead_bytes;
  for (uint16_t i = 0; i < flows; ++i) {
    FlowOptions flow = flow_of(sites, 1, static_cast<uint16_t>(i + 1));
    flow.kind = PacketKind::Udp;
    flow.rate = rate.scaled(times / flows);
    flow.bytes = 1400;
    flow.packets = UINT64_MAX;
    sites.host(1).add_flow(flow);
  }
  sites.run_for(300_ms);
  meter.begin = sites.now() + 10_ms;  // packets leave a little before their time
  sites.run_for(520_ms);
  std::vector<double> shares;
  const auto full = static_cast<double>(rate.bytes_in(WireMeter::window).count());
  for (size_t i = 0; i < 50; ++i) shares.push_back(static_cast<double>(meter.bytes[i]) / full);
  return shares;
}

void expect_full(const std::vector<double>& shares, double least, double least_mean) {
  double sum = 0;
  for (const double share : shares) {
    EXPECT_LE(share, 1.02) << "but for a turn's packets at either end of the window";
    EXPECT_GE(share, least);
    sum += share;
  }
  const double mean = sum / static_cast<double>(shares.size());
  EXPECT_GE(mean, least_mean);
  EXPECT_LE(mean, 1.001);
}

TEST(SiteShards, reach_the_rate_of_the_pair_and_no_more_where_one_is_busy) {
  expect_full(loads(1, 1.5), 0.98, 0.985);
}

TEST(SiteShards, reach_the_rate_of_the_pair_and_no_more_where_all_are_busy) {
  expect_full(loads(64, 4), 0.98, 0.995);
}

// All flows send their packets at the same instants, and some links have less to carry than their
// part: what those do not need in a pause, others do.
TEST(SiteShards, reach_the_rate_where_some_send_in_bursts) {
  expect_full(loads(64, 1.5), 0.94, 0.98);
}

/// Frames that a class has sent, over all links.
uint64_t sent_by(const site::SiteState& state, uint16_t class_index) {
  uint64_t sent = 0;
  for (const gateway::LaneView& lane : state.lanes) {
    if (lane.class_index == class_index) sent += lane.sent;
  }
  return sent;
}

// The heavy class has flows on one shard, the light one on all: what each gets there is nobody's
// weight, and the sums are.
TEST(SiteShards, give_each_class_its_weight_wherever_it_sends) {
  SiteText text{.rate = "1 Gbit/s", .rtt = "5 ms"};
  text.wan = "adapt = false\n";
  text.classes =
      "[[class]]\nname = \"heavy\"\nmatch = [{kind = \"udp\"}]\nweight = 3\n"
      "[[class]]\nname = \"light\"\n";
  Sites sites({.seed = 78,
               .files = {file_of(1, 3, 3, text), file_of(2, 3, 3, text)},
               .wan = {.delay = 2_ms}});
  ASSERT_TRUE(sites.come_up());
  const auto add = [&](PacketKind kind, uint16_t number, Rate rate) {
    FlowOptions flow = flow_of(sites, 1, number);
    flow.kind = kind;
    flow.is_v6 = false;
    flow.rate = rate;
    flow.bytes = 1400;
    flow.packets = UINT64_MAX;
    sites.host(1).add_flow(flow);
  };
  add(PacketKind::Udp, 1, 1100_Mbps);
  for (uint16_t i = 0; i < 30; ++i) add(PacketKind::Tcp, static_cast<uint16_t>(100 + i), 40_Mbps);
  sites.run_for(200_ms);
  for (int window = 0; window < 30; ++window) {
    const site::SiteState before = sites.state(1);
    sites.run_for(10_ms);
    const site::SiteState after = sites.state(1);
    const auto sent = [&](uint16_t of) {
      return static_cast<double>(sent_by(after, of) - sent_by(before, of));
    };
    EXPECT_NEAR(sent(0) / (sent(0) + sent(1)), 0.75, 0.05 * 0.75) << window;
  }
}

TEST(SiteShards, say_which_of_their_links_is_down) {
  Sites sites({.seed = 9, .files = {file_of(1, 2, 2), file_of(2, 1, 1)}});
  EXPECT_FALSE(sites.come_up(500_ms));
  const site::SiteState state = sites.state(1);
  ASSERT_EQ(state.peers.size(), 2u);
  EXPECT_EQ(state.peers[0].why,
            "pair.links is 2 here and 1 at the peer: [pair] keys must be equal");
  EXPECT_EQ(state.peers[1].link, 1u);
  EXPECT_FALSE(state.peers[1].is_up);
}

TEST(SiteShards, begin_again_when_either_site_does) {
  Sites sites({.seed = 10,
               .files = {file_of(1, 2, 4), file_of(2, 4, 4)},
               .wan = {.loss = 0.01, .delay = 5_ms}});
  ASSERT_TRUE(sites.come_up());
  for (const int site : {1, 2, 1}) {
    sites.restart(site);
    ASSERT_TRUE(sites.come_up());
    const auto number = static_cast<uint16_t>(sites.seat(site).lives() * 10 + site);
    for (uint16_t i = 0; i < 8; ++i) {
      sites.host(1).add_flow(flow_of(sites, 1, static_cast<uint16_t>(number * 10 + i)));
    }
    sites.run_for(1200_ms);
    for (uint16_t i = 0; i < 8; ++i) {
      const FlowReport& report = sites.host(2).report(static_cast<uint16_t>(number * 10 + i));
      EXPECT_EQ(report.received, 400u);
    }
  }
}

/// Frames by link, of flows of which each has twice as many as the one before.
std::vector<uint64_t> frames_by_link(Sites& sites) {
  const uint64_t first = 5;
  for (uint16_t i = 0; i < 8; ++i) {
    FlowOptions flow = flow_of(sites, 1, static_cast<uint16_t>(i + 1));
    flow.rate = 20_Mbps;
    flow.packets = first << i;
    sites.host(1).add_flow(flow);
  }
  sites.run_for(500_ms);
  std::vector<uint64_t> sent;
  for (const gateway::LaneView& lane : sites.state(1).lanes) sent.push_back(lane.sent);
  return sent;
}

// What the far end holds of one link would come out behind what came by another.
TEST(SiteShards, keep_each_flow_on_its_link_over_their_lives) {
  Sites sites({.seed = 11, .files = {file_of(1, 1, 4), file_of(2, 4, 4)}});
  ASSERT_TRUE(sites.come_up());
  const std::vector<uint64_t> before = frames_by_link(sites);
  EXPECT_GT(std::ranges::count_if(before, [](uint64_t sent) { return sent > 0; }), 1);
  sites.restart(1);
  ASSERT_TRUE(sites.come_up());
  EXPECT_EQ(frames_by_link(sites), before);
}

}  // namespace
}  // namespace cw::sim
