#include "dataplane/port/sim/fabric/way/topology.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace cw {
namespace {

size_t ports_of(const Topology& topology, uint16_t number) {
  return topology.links_from(FabricNode::at_switch(number)).size();
}

TEST(Topology, the_two_links_of_a_cable_are_each_others_way_back) {
  const Topology topology = *make_leaf_spine({.hosts = 8, .leaves = 2, .spines = 2});
  for (uint32_t link = 0; link < topology.links().size(); ++link) {
    const auto& there = topology.links()[link];
    const auto& back = topology.links()[Topology::back(link)];
    EXPECT_EQ(there.source, back.target);
    EXPECT_EQ(there.target, back.source);
  }
}

TEST(LeafSpine, of_188_hosts_has_15_or_16_at_each_of_12_leaves_in_their_order) {
  const Topology topology = *make_leaf_spine({});
  EXPECT_EQ(topology.host_count(), 188u);
  EXPECT_EQ(topology.switch_count(), 18u);
  std::map<uint16_t, size_t> hosts_of;
  uint16_t last = 0;
  for (uint16_t host = 0; host < 188; ++host) {
    const uint32_t up = topology.links_from(FabricNode::host(host)).front();
    const uint16_t leaf = topology.links()[up].target.number;
    EXPECT_GE(leaf, last);
    ++hosts_of[last = leaf];
  }
  ASSERT_EQ(hosts_of.size(), 12u);
  for (const auto& [leaf, count] : hosts_of) {
    EXPECT_TRUE(count == 15 || count == 16);
    EXPECT_EQ(ports_of(topology, leaf), count + 6);
  }
  for (uint16_t spine = 12; spine < 18; ++spine) EXPECT_EQ(ports_of(topology, spine), 12u);
}

TEST(LeafSpine, cables_to_each_spine_may_be_several) {
  const Topology topology = *make_leaf_spine({.hosts = 4, .leaves = 2, .spines = 2, .cables = 3});
  EXPECT_EQ(ports_of(topology, 0), 2u + 6u);
  EXPECT_EQ(ports_of(topology, 2), 6u);
}

TEST(FatTree, of_two_levels_is_taken_as_long_as_it_is_enough) {
  const Topology topology = *make_fat_tree({.radix = 32, .hosts = 512});
  EXPECT_EQ(topology.switch_count(), 32u + 16u);
  for (uint16_t number = 0; number < topology.switch_count(); ++number) {
    EXPECT_EQ(ports_of(topology, number), 32u);
  }
}

TEST(FatTree, of_1024_hosts_has_three_levels_and_every_port_of_radix_32_in_use) {
  const Topology topology = *make_fat_tree({.radix = 32, .hosts = 1024});
  EXPECT_EQ(topology.switch_count(), 64u + 64u + 32u);
  for (uint16_t number = 0; number < topology.switch_count(); ++number) {
    EXPECT_EQ(ports_of(topology, number), 32u) << number;
  }
}

TEST(FatTree, never_takes_more_ports_than_its_switches_have) {
  for (const size_t radix : {2u, 4u, 6u, 8u, 16u}) {
    for (size_t hosts = 1; hosts <= radix * radix * radix / 4; hosts += 1 + hosts / 7) {
      const auto topology = make_fat_tree({.radix = radix, .hosts = hosts});
      ASSERT_TRUE(topology.has_value()) << topology.error().sentence;
      for (uint16_t number = 0; number < topology->switch_count(); ++number) {
        ASSERT_LE(ports_of(*topology, number), radix) << radix << " " << hosts;
      }
    }
  }
}

TEST(FatTree, one_switch_is_enough_for_few) {
  EXPECT_EQ(make_fat_tree({.radix = 8, .hosts = 4})->switch_count(), 1u);
}

std::string sentence_of(const Result<Topology>& result) {
  return result.has_value() ? "" : result.error().sentence;
}

TEST(Topology, what_cannot_be_built_is_refused_with_a_sentence) {
  EXPECT_EQ(sentence_of(make_fat_tree({.radix = 4, .hosts = 17})),
            "hosts is 17; 1 to 16 are accepted");
  EXPECT_EQ(sentence_of(make_fat_tree({.radix = 5})),
            "radix is 5; even numbers from 2 to 256 are accepted");
  EXPECT_EQ(sentence_of(make_leaf_spine({.hosts = 20'000})),
            "hosts is 20000; 1 to 16384 are accepted");
  EXPECT_EQ(sentence_of(make_leaf_spine({.hosts = 3, .leaves = 4})),
            "leaves is 4; 1 to the hosts, 3, are accepted");
  EXPECT_EQ(sentence_of(make_leaf_spine({.spines = 0})),
            "spines and cables must be above 0 where there are several leaves");
  EXPECT_EQ(sentence_of(make_leaf_spine({.spines = 40'000})),
            "so many hosts take 40012 switches; 32768 are the most");
  EXPECT_EQ(sentence_of(make_leaf_spine({.host_cable = {.rate = {}}})),
            "a cable has rate 0; it must be above 0");
  EXPECT_EQ(sentence_of(make_leaf_spine({.spine_cable = {.delay = Duration::from_ns(-1)}})),
            "a cable has a negative delay");
  EXPECT_EQ(sentence_of(make_leaf_spine({.leaf = {.buffer = Bytes(1), .alpha = 0}})),
            "switch 0 shares a buffer by alpha 0.000000; it must be above 0");
}

TEST(Topology, a_host_needs_one_cable_and_a_switch_a_way_to_the_others) {
  Topology topology;
  EXPECT_EQ(validate(topology).error().sentence, "a fabric has at least one host");
  const FabricNode host = FabricNode::host(topology.add_host());
  const FabricNode first = FabricNode::at_switch(topology.add_switch());
  EXPECT_EQ(validate(topology).error().sentence,
            "host 0 has 0 cables; a host has one, to a switch");
  topology.join(host, first, {});
  EXPECT_TRUE(validate(topology).has_value());
  const FabricNode second = FabricNode::at_switch(topology.add_switch());
  EXPECT_EQ(validate(topology).error().sentence, "switch 1 is not reached from switch 0");
  topology.join(first, second, {});
  EXPECT_TRUE(validate(topology).has_value());
  EXPECT_EQ(topology.find_link(second, first), 3u);
  EXPECT_EQ(topology.find_link(second, host), std::nullopt);
  topology.join(host, second, {});
  EXPECT_EQ(validate(topology).error().sentence,
            "host 0 has 2 cables; a host has one, to a switch");
}

TEST(Topology, two_hosts_cannot_be_joined_to_each_other) {
  Topology topology;
  topology.add_switch();
  const FabricNode a = FabricNode::host(topology.add_host());
  const FabricNode b = FabricNode::host(topology.add_host());
  topology.join(a, b, {});
  EXPECT_EQ(validate(topology).error().sentence,
            "host 0 is joined to host 1; a host has one cable, to a switch");
}

}  // namespace
}  // namespace cw
