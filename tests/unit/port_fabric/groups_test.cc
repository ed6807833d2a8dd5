#include "dataplane/port/sim/fabric/way/groups.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "dataplane/base/prng.h"
#include "tests/property/property.h"

namespace cw {
namespace {

/// Every link that a packet from `source` crosses, in the order of crossing.
std::vector<uint32_t> spread(const Topology& topology, const GroupTree& tree, uint16_t source) {
  std::vector<uint32_t> links{topology.links_from(FabricNode::host(source)).front()};
  for (size_t i = 0; i < links.size() && links.size() < 100'000; ++i) {
    const FabricNode at = topology.links()[links[i]].target;
    if (!at.is_switch) continue;
    for (uint32_t place = tree.first_branch(at.number); place != GroupTree::none;
         place = tree.branch(place).next) {
      const uint32_t link = tree.branch(place).link;
      if (link != Topology::back(links[i])) links.push_back(link);
    }
  }
  return links;
}

std::multiset<uint16_t> hosts_reached(const Topology& topology,
                                      const std::vector<uint32_t>& links) {
  std::multiset<uint16_t> hosts;
  for (const uint32_t link : links) {
    const FabricNode target = topology.links()[link].target;
    if (!target.is_switch) hosts.insert(target.number);
  }
  return hosts;
}

/// The group of these hosts, by its number.
const GroupTree& join_all(FabricGroups& groups, const Topology& topology,
                          const std::vector<uint16_t>& members, uint16_t number) {
  for (const uint16_t member : members) EXPECT_TRUE(groups.join(topology, member, number));
  return *groups.find(number);
}

TEST(FabricGroups, who_never_joined_is_no_member) {
  const Topology topology = *make_leaf_spine({.hosts = 4, .leaves = 2, .spines = 1});
  FabricGroups groups(topology);
  EXPECT_EQ(groups.find(group_peer_first), nullptr);
  EXPECT_TRUE(groups.join(topology, 1, 0xf002));
  EXPECT_FALSE(groups.join(topology, 1, 0xf002)) << "it is one";
  EXPECT_EQ(groups.find(0xf001), nullptr);
  EXPECT_TRUE(groups.find(0xf002)->is_member(1));
  EXPECT_FALSE(groups.find(0xf002)->is_member(0));
  EXPECT_EQ(groups.find(0xffff), nullptr);
}

// 188 hosts cross 188 + 12 links: the sender's, its leaf's to the spine, the spine's to the other
// leaves, and those to the other hosts. In 1,024 hosts' tree of three levels 4 times 17 for pods.
TEST(FabricGroups, a_tree_of_all_has_as_many_links_as_its_shape_says) {
  const Topology leaf_spine = *make_leaf_spine({});
  const Topology fat_tree = *make_fat_tree({});
  for (const auto& [topology, links] : {std::pair{&leaf_spine, 200u}, {&fat_tree, 1024u + 68u}}) {
    FabricGroups groups(*topology);
    std::vector<uint16_t> members(topology->host_count());
    for (uint16_t host = 0; host < members.size(); ++host) members[host] = host;
    const GroupTree& tree = join_all(groups, *topology, members, 0xf000);
    for (const uint16_t source : {0, 77, 187}) {
      EXPECT_EQ(spread(*topology, tree, source).size(), links);
    }
  }
}

TEST(FabricGroups,
     each_group_has_another_spine_and_then_another_cable_as_long_as_there_are_others) {
  const Topology topology = *make_leaf_spine({.hosts = 8, .leaves = 2, .spines = 4, .cables = 2});
  FabricGroups groups(topology);
  std::set<uint32_t> uplinks;
  for (uint16_t number = 0xf000; number < 0xf008; ++number) {
    const GroupTree& tree = join_all(groups, topology, {0, 7}, number);
    uplinks.insert(spread(topology, tree, 0)[1]);
  }
  EXPECT_EQ(uplinks.size(), 8u);
}

TEST(FabricGroups, members_of_one_leaf_never_see_a_spine) {
  const Topology topology = *make_leaf_spine({.hosts = 8, .leaves = 2, .spines = 2});
  FabricGroups groups(topology);
  const GroupTree& tree = join_all(groups, topology, {0, 1, 2}, 0xf000);
  EXPECT_EQ(spread(topology, tree, 1).size(), 3u);
  EXPECT_TRUE(groups.join(topology, 4, 0xf000));
  EXPECT_EQ(spread(topology, tree, 1).size(), 6u) << "until one comes from elsewhere";
}

TEST(FabricGroups, members_of_one_pod_stay_below_its_middle) {
  const Topology topology = *make_fat_tree({.radix = 4, .hosts = 16});
  FabricGroups groups(topology);
  const GroupTree& tree = join_all(groups, topology, {0, 3}, 0xf000);
  EXPECT_EQ(spread(topology, tree, 0).size(), 4u);
}

TEST(FabricGroups, the_last_number_is_a_group_like_any_other) {
  const Topology topology = *make_leaf_spine({.hosts = 2, .leaves = 1});
  FabricGroups groups(topology);
  const GroupTree& tree = join_all(groups, topology, {0, 1}, 0xffff);
  EXPECT_EQ(hosts_reached(topology, spread(topology, tree, 0)), std::multiset<uint16_t>{1});
}

RC_GTEST_PROP(FabricGroups, a_packet_crosses_a_link_at_most_once_and_reaches_all_but_its_sender,
              (uint64_t seed)) {
  Prng prng(seed);
  const size_t hosts = prng.between(2, 60);
  const Topology topology =
      prng.chance(0.5) ? *make_fat_tree({.radix = 8, .hosts = hosts})
                       : *make_leaf_spine({.hosts = hosts,
                                           .leaves = prng.between(1, std::min<size_t>(hosts, 7)),
                                           .spines = prng.between(1, 4),
                                           .cables = prng.between(1, 2)});
  FabricGroups groups(topology);
  const auto number = static_cast<uint16_t>(group_peer_first + prng.below(40));
  std::set<uint16_t> members;
  for (uint64_t i = 0; i < prng.between(1, hosts); ++i) {
    const auto host = static_cast<uint16_t>(prng.below(hosts));
    RC_ASSERT(groups.join(topology, host, number) == members.insert(host).second);
    for (const uint16_t source : members) {
      const auto links = spread(topology, *groups.find(number), source);
      RC_ASSERT(std::set<uint32_t>(links.begin(), links.end()).size() == links.size());
      std::multiset<uint16_t> expected(members.begin(), members.end());
      expected.erase(source);
      RC_ASSERT(hosts_reached(topology, links) == expected);
    }
  }
}

}  // namespace
}  // namespace cw
