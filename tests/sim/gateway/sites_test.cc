// Sites from configuration text: that they are what their files say, and that the faults are
// faults.
#include "tests/sim/gateway/sites.h"

#include <gtest/gtest.h>

namespace cw::sim {
namespace {

using gateway::PacketKind;

constexpr Duration one_way = Duration::from_ms(10);

FlowOptions flow(const Sites& sites, PacketKind kind, uint16_t number) {
  FlowOptions options;
  options.kind = kind;
  options.number = number;
  options.rate = Rate::from_mbps(40);
  options.packets = 4000;
  options.begin = sites.now();
  return options;
}

TEST(Sites, lose_nothing_that_a_policy_can_mend) {
  for (const char* policy : {"selective_repeat", "hybrid", "erasure"}) {
    SCOPED_TRACE(policy);
    SiteText text;
    text.classes = "[[class]]\nname = \"all\"\npolicy = \"" + std::string(policy) + "\"\n";
    Sites sites(
        {.seed = 5, .files = site_files(2, text), .wan = {.loss = 0.005, .delay = one_way}});
    ASSERT_TRUE(sites.come_up());
    sites.host(1).add_flow(flow(sites, PacketKind::Udp, 1));
    sites.host(1).add_flow(flow(sites, PacketKind::Tcp, 2));
    sites.run_for(Duration::from_s(2));
    for (const uint16_t number : {1, 2}) {
      const FlowReport& report = sites.host(2).report(number);
      EXPECT_EQ(report.received, 4000u);
      EXPECT_EQ(report.wrong + report.doubled, 0u);
    }
    EXPECT_EQ(sites.host(2).report(2).overtaken, 0u);
    EXPECT_EQ(sites.state(1).drops.sum(), 0u);
    EXPECT_GT(sites.wan_counters({1, 2}).lost_total(), 10u);
  }
}

SiteText class_text(const std::string& keys) {
  SiteText text;
  text.classes = "[[class]]\nname = \"all\"\n" + keys + "\n";
  return text;
}

/// The first site has another class than the second.
std::vector<std::string> files_with(const std::string& keys_of_1, const std::string& keys_of_2) {
  return {site_files(2, class_text(keys_of_1))[0], site_files(2, class_text(keys_of_2))[1]};
}

TEST(Sites, send_each_by_the_policy_of_its_own_file) {
  const std::string room = "policies = [\"selective_repeat\", \"hybrid\"]\n";
  Sites sites({.seed = 8,
               .files = files_with(room + "policy = \"hybrid\"", room),
               .wan = {.loss = 0.005, .delay = one_way}});
  ASSERT_TRUE(sites.come_up());
  for (const int site : {1, 2}) {
    const site::SiteState state = sites.state(site);
    EXPECT_EQ(state.lanes[0].policy_out, site == 1 ? "hybrid" : "selective_repeat");
    EXPECT_EQ(state.lanes[0].policy_in, site == 1 ? "selective_repeat" : "hybrid");
    FlowOptions options = flow(sites, PacketKind::Udp, static_cast<uint16_t>(site));
    options.from = static_cast<uint8_t>(site), options.to = static_cast<uint8_t>(3 - site);
    sites.host(site).add_flow(options);
  }
  sites.run_for(Duration::from_s(2));
  for (const int site : {1, 2}) {
    const FlowReport& report = sites.host(3 - site).report(static_cast<uint16_t>(site));
    EXPECT_EQ(report.received, 4000u);
    EXPECT_EQ(report.wrong + report.doubled, 0u);
  }
}

/// Each goes by its own hold and round-trip time, where messages are as long all the same.
TEST(Sites, whose_files_differ_in_what_is_their_own_tell_it_and_carry_all) {
  const auto file_of = [](int site, const char* hold) {
    SiteText text{.rate = "20 Mbit/s",
                  .classes = class_text("hold = \"" + std::string(hold) + "\"").classes};
    return site_files(2, text)[static_cast<size_t>(site - 1)];
  };
  Sites sites({.seed = 8,
               .files = {file_of(1, "300 ms"), file_of(2, "310 ms")},
               .wan = {.loss = 0.005, .delay = one_way}});
  ASSERT_TRUE(sites.come_up());
  EXPECT_EQ(sites.state(1).peers[0].differences,
            (std::vector<std::string>{"class.all.hold is 300 ms here and 310 ms at the peer"}));
  FlowOptions options = flow(sites, PacketKind::Udp, 1);
  options.rate = Rate::from_mbps(10);
  options.packets = 1000;
  sites.host(1).add_flow(options);
  sites.run_for(Duration::from_s(2));
  EXPECT_EQ(sites.host(2).report(1).received, 1000u);
}

TEST(Sites, blame_what_a_person_wrote_where_messages_differ) {
  Sites sites({.seed = 8, .files = files_with("hold = \"300 ms\"", "hold = \"900 ms\"")});
  EXPECT_FALSE(sites.come_up());
  EXPECT_EQ(sites.state(2).peers[0].why,
            "class.all.hold is 900 ms here and 300 ms at the peer: [pair] keys must be equal");
}

TEST(Sites, say_whose_blocks_are_larger_where_their_rooms_differ) {
  Sites sites({.seed = 8, .files = files_with("policy = \"hybrid\"", "")});
  EXPECT_FALSE(sites.come_up());
  EXPECT_EQ(sites.state(2).peers[0].why,
            "the largest block of class.all.policies is none here and 4 x 32 + 32 packets at the "
            "peer: [pair] keys must be equal");
}

TEST(Sites, of_four_reach_each_other_by_all_paths) {
  SiteText text{.rate = "300 Mbit/s"};
  text.wan = "paths = 2\n";
  Sites sites({.seed = 6, .files = site_files(4, text)});
  ASSERT_TRUE(sites.come_up());
  uint16_t number = 0;
  for (uint8_t from = 1; from <= 4; ++from) {
    for (uint8_t to = 1; to <= 4; ++to) {
      if (from == to) continue;
      FlowOptions options = flow(sites, PacketKind::Tcp, ++number);
      options.rate = Rate::from_mbps(10);
      options.packets = 200;
      options.from = from, options.to = to;
      sites.host(from).add_flow(options);
    }
  }
  sites.run_for(Duration::from_s(1));
  number = 0;
  for (int from = 1; from <= 4; ++from) {
    for (int to = 1; to <= 4; ++to) {
      if (from == to) continue;
      EXPECT_EQ(sites.host(to).report(++number).received, 200u) << from << " to " << to;
      EXPECT_GT(sites.wan_counters({from, to, 1}).delivered, 20u);
    }
  }
}

TEST(Sites, a_pause_holds_packets_up_and_a_crash_loses_them) {
  Sites sites({.seed = 7});
  ASSERT_TRUE(sites.come_up());
  sites.host(1).add_flow(flow(sites, PacketKind::Udp, 1));
  sites.run_for(Duration::from_ms(100));
  sites.pause(2, Duration::from_ms(30));
  sites.run_for(Duration::from_ms(29));
  const uint64_t before = sites.host(2).report(1).received;
  sites.run_for(Duration::from_ms(10));
  EXPECT_GT(sites.host(2).report(1).received, before + 100);
  EXPECT_GT(sites.host(2).report(1).delay_max, one_way + Duration::from_ms(29));
  sites.restart(2);
  sites.run_for(Duration::from_s(2));
  EXPECT_LT(sites.host(2).report(1).received, 4000u);
  EXPECT_EQ(sites.host(2).report(1).next, 4000u);
  EXPECT_EQ(sites.seat(2).lives(), 2u);
}

TEST(Sites, one_seed_is_one_run) {
  const auto hash = [](uint64_t seed) {
    Sites sites({.seed = seed, .wan = {.loss = 0.01, .delay = one_way}});
    EXPECT_TRUE(sites.come_up());
    sites.host(1).add_flow(flow(sites, PacketKind::Tcp, 1));
    sites.run_for(Duration::from_ms(300));
    return sites.network().trace_hash();
  };
  EXPECT_EQ(hash(8), hash(8));
  EXPECT_NE(hash(8), hash(9));
}

}  // namespace
}  // namespace cw::sim
