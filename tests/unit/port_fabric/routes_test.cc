#include "dataplane/port/sim/fabric/way/routes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "tests/property/property.h"

namespace cw {
namespace {

/// Whether the links follow each other from `source` to `target`.
bool leads(const Topology& topology, const std::vector<uint32_t>& way, uint16_t source,
           uint16_t target) {
  FabricNode at = FabricNode::host(source);
  for (const uint32_t link : way) {
    if (topology.links()[link].source != at) return false;
    at = topology.links()[link].target;
  }
  return at == FabricNode::host(target);
}

std::vector<uint32_t> way(const FabricRoutes& routes, uint16_t source, uint16_t target,
                          uint16_t path = 0) {
  return routes.way(source, target, fabric_flow(source, target, path));
}

TEST(FabricRoutes, are_as_short_as_the_levels_allow) {
  const Topology topology = *make_fat_tree({.radix = 4, .hosts = 16});
  const FabricRoutes routes(topology, Prng(1));
  for (uint16_t source = 0; source < 16; ++source) {
    for (uint16_t target = 0; target < 16; ++target) {
      if (source == target) continue;
      const size_t hops = source / 2 == target / 2 ? 2 : source / 4 == target / 4 ? 4 : 6;
      const auto links = way(routes, source, target);
      EXPECT_EQ(links.size(), hops);
      EXPECT_TRUE(leads(topology, links, source, target));
    }
  }
}

TEST(FabricRoutes, a_flow_has_one_way_and_its_paths_have_many) {
  const Topology topology = *make_leaf_spine({.hosts = 32, .leaves = 2, .spines = 8});
  const FabricRoutes routes(topology, Prng(1));
  std::set<uint32_t> uplinks;
  for (uint16_t path = 0; path < 64; ++path) {
    EXPECT_EQ(way(routes, 3, 20, path), way(routes, 3, 20, path));
    uplinks.insert(way(routes, 3, 20, path)[1]);
  }
  EXPECT_EQ(uplinks.size(), 8u);
}

TEST(FabricRoutes, flows_are_spread_evenly_at_every_level) {
  const Topology topology = *make_fat_tree({.radix = 16, .hosts = 1024});
  const FabricRoutes routes(topology, Prng(7));
  std::map<uint32_t, size_t> first_choice, second_choice;
  for (uint16_t target = 512; target < 1024; ++target) {
    for (uint16_t path = 0; path < 16; ++path) {
      const auto links = way(routes, 0, target, path);
      ++first_choice[links[1]];
      ++second_choice[links[2]];
    }
  }
  constexpr double flows = 512 * 16;
  ASSERT_EQ(first_choice.size(), 8u);
  ASSERT_EQ(second_choice.size(), 64u) << "who was sent one way is not sent one way again";
  for (const auto& [link, count] : first_choice) EXPECT_NEAR(double(count), flows / 8, 150);
  for (const auto& [link, count] : second_choice) EXPECT_NEAR(double(count), flows / 64, 60);
}

TEST(FabricRoutes, several_cables_between_two_switches_are_all_used) {
  const Topology topology = *make_leaf_spine({.hosts = 4, .leaves = 2, .spines = 1, .cables = 4});
  const FabricRoutes routes(topology, Prng(1));
  std::set<uint32_t> uplinks;
  for (uint16_t path = 0; path < 64; ++path) uplinks.insert(way(routes, 0, 3, path)[1]);
  EXPECT_EQ(uplinks.size(), 4u);
}

TEST(FabricRoutes, another_seed_spreads_otherwise) {
  const Topology topology = *make_leaf_spine({});
  const FabricRoutes a(topology, Prng(1)), b(topology, Prng(2));
  size_t different = 0;
  for (uint16_t target = 20; target < 188; ++target) {
    different += way(a, 0, target) != way(b, 0, target);
  }
  EXPECT_GT(different, 100u);
}

/// Switches joined at random, each to one before it and some besides, and hosts anywhere.
Topology draw_topology(Prng& prng) {
  Topology topology;
  const size_t switches = prng.between(1, 12);
  for (size_t i = 0; i < switches; ++i) {
    const FabricNode added = FabricNode::at_switch(topology.add_switch());
    for (uint64_t cable = 0; i > 0 && cable < prng.between(1, 3); ++cable) {
      topology.join(added, FabricNode::at_switch(uint16_t(prng.below(i))), {});
    }
  }
  for (uint64_t host = 0; host < 20; ++host) {
    topology.join(FabricNode::host(topology.add_host()),
                  FabricNode::at_switch(uint16_t(prng.below(switches))), {});
  }
  return topology;
}

RC_GTEST_PROP(FabricRoutes, lead_from_every_host_to_every_other_in_any_shape, (uint64_t seed)) {
  Prng prng(seed);
  const Topology topology = draw_topology(prng);
  RC_ASSERT(validate(topology).has_value());
  const FabricRoutes routes(topology, prng.split());
  for (uint16_t source = 0; source < 20; ++source) {
    for (uint16_t target = 0; target < 20; ++target) {
      if (source == target) continue;
      RC_ASSERT(leads(topology, way(routes, source, target), source, target));
    }
  }
}

}  // namespace
}  // namespace cw
