// [[group]] and lan.prefixes: what they come to, and what a person may write by mistake.
#include <gtest/gtest.h>

#include <string>

#include "control/gateway/changes.h"
#include "control/gateway/plan.h"
#include "control/gateway/site/live/live_change.h"
#include "tests/unit/site_config/folder.h"

namespace cw::site {
namespace {

std::string file_with_group(const std::string& keys, const std::string& lan = "") {
  return file_with("[lan]\n", "[lan]\n" + lan, "[[group]]\n" + keys);
}

std::string verdict_on(const std::string& text) {
  const auto plan = read_plan("f", text);
  return plan ? "" : plan.error().sentence;
}

TEST(GroupKeys, come_to_what_a_gateway_and_its_port_are_made_from) {
  const Folder folder;
  const auto plan = read_plan(
      "f", file_with_group("address = '239.1.2.3'\nsites = ['north']\nclass = 'all'\nttl = 9\n"
                           "[[group]]\naddress = 'ff05::1:2'\n[[class]]\nname = 'all'\n",
                           "prefixes = ['10.1.0.0/16', 'fd00:1::/32']\n"));
  ASSERT_TRUE(plan) << plan.error().sentence;
  const auto& groups = plan->gateway.groups;
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].address[0], 239);
  EXPECT_FALSE(groups[0].is_v6);
  EXPECT_EQ(groups[0].peers, std::vector<std::string>{"north"});
  EXPECT_EQ(groups[0].class_index, 0u);
  EXPECT_EQ(groups[0].ttl, 9);
  EXPECT_TRUE(groups[1].is_v6);
  EXPECT_TRUE(groups[1].peers.empty());
  EXPECT_EQ(groups[1].class_index, std::nullopt);
  EXPECT_EQ(groups[1].ttl, 4);
  EXPECT_EQ(plan->gateway.own_prefixes.size(), 2u);
  ASSERT_EQ(plan->lan_over_frames.groups.size(), 2u);
  EXPECT_EQ(text_of(plan->lan_over_frames.groups[1]), "ff05::1:2");
}

TEST(GroupKeys, take_the_hosts_of_our_addresses_where_nothing_is_said) {
  const Folder folder;
  const auto plan = read_plan("f", file_with_group("address = '239.1.2.3'\n"));
  ASSERT_TRUE(plan) << plan.error().sentence;
  ASSERT_EQ(plan->gateway.own_prefixes.size(), 1u);
  EXPECT_EQ(plan->gateway.own_prefixes[0].bits, 24);
  EXPECT_EQ(plan->gateway.own_prefixes[0].address[3], 0) << "the network of 10.1.0.1/24";
}

TEST(GroupKeys, name_every_mistake_of_a_group) {
  const Folder folder;
  struct Row {
    std::string keys, lan, sentence;
  };
  const std::string address = "address = '239.1.2.3'\n";
  for (const Row& row : {
           Row{"ttl = 4\n", "", "f:14:1: group.address is missing; it is a text"},
           {"address = 'x'\n", "",
            "f:15:11: group.address \"x\" is no multicast address such as \"239.1.2.3\" or "
            "\"ff05::1:2\""},
           {"address = '10.1.0.9'\n", "",
            "f:15:11: group.address \"10.1.0.9\" is one host's; a group's is of 224.0.0.0/4 or "
            "ff00::/8"},
           {"address = '224.0.0.251'\n", "",
            "f:15:11: group.address \"224.0.0.251\" is of one link, which no router carries on; "
            "take one of 239.0.0.0/8 or ff05::/16"},
           {"address = 'ff05::1'\n", "",
            "f:15:11: group.address \"ff05::1\" has nobody here who may send to it: lan.prefixes "
            "names no IPv6 prefix, such as \"2001:db8:1::/48\""},
           {"address = 'ff05::1'\n", "mtu = 1000\n",
            "f:16:11: group.address \"ff05::1\" is IPv6 and lan.mtu is 1000; IPv6 needs an MTU of "
            "1280 at least"},
           {address + "[[group]]\n" + address, "", "f:17:11: group \"239.1.2.3\" is there twice"},
           {address + "class = 'bulk'\n", "",
            "f:16:9: group \"239.1.2.3\": there is no class \"bulk\"; known here: all"},
           {address + "sites = ['north', 'south']\n", "",
            "f:16:9: group \"239.1.2.3\": sites has \"south\", which is the name of no [[peer]]"},
           {address + "sites = ['north', 'north']\n", "",
            "f:16:9: group \"239.1.2.3\": sites has \"north\" twice"},
           {address + "ttl = 1\n", "", "f:16:7: group.ttl is 1; 2 to 255 is accepted"},
           {address, "prefixes = ['10.1.0.0']\n", ""},
           {address, "prefixes = ['x']\n",
            "f:4:12: lan.prefixes: \"x\" is no address prefix such as \"10.2.0.0/16\" or "
            "\"2001:db8:2::/48\"\n"
            "f:16:11: group.address \"239.1.2.3\" has nobody here who may send to it: lan.prefixes "
            "names no IPv4 prefix, such as \"10.1.0.0/16\""},
           {address, "prefixes = ['10.2.0.0/16']\n",
            "f:3:1: lan.prefixes has 10.2.0.0/16, which is a route of peer \"north\"; hosts are on "
            "one side"},
       }) {
    EXPECT_EQ(verdict_on(file_with_group(row.keys, row.lan)), row.sentence) << row.keys << row.lan;
  }
}

TEST(GroupKeys, are_told_to_be_wrong_all_at_once) {
  const Folder folder;
  const std::string sentences =
      verdict_on(file_with_group("address = '10.0.0.1'\nclass = 'x'\nsites = ['y']\nttl = 0\n"));
  EXPECT_EQ(std::ranges::count(sentences, '\n'), 3) << sentences;
}

TEST(GroupKeys, are_the_way_of_multicast_and_routes_are_not) {
  const Folder folder;
  EXPECT_EQ(verdict_on(file_with("\"10.2.0.0/16\"", "\"10.2.0.0/16\", \"239.0.0.0/8\"")),
            "f:13:10: peer \"north\": route 239.0.0.0/8 is multicast, whose frames cross by a "
            "[[group]]");
}

TEST(GroupKeys, are_live_where_the_port_need_not_join) {
  const Folder folder;
  EXPECT_EQ(kind_of("group"), KeyKind::Live);
  EXPECT_EQ(kind_of("group.ttl"), KeyKind::Live);
  EXPECT_EQ(kind_of("lan.prefixes"), KeyKind::Live);
  const std::string over_tun = file_with("", ""),
                    over_dpdk =
                        file_with("[lan]\n", "[lan]\nport = 'dpdk'\ndevice = 'net_null0'\n");
  for (const std::string& before : {over_tun, over_dpdk}) {
    const auto plan = read_plan("f", before);
    const auto next = read_plan("f", before + "[[group]]\naddress = '239.1.2.3'\n");
    ASSERT_TRUE(plan && next);
    const auto found = beyond(LiveBounds::of(*plan), *next);
    EXPECT_EQ(found.size(), before == over_dpdk ? 1u : 0u);
    if (found.empty()) continue;
    EXPECT_EQ(found[0].key, "group");
    EXPECT_EQ(found[0].why, "lan.port \"dpdk\" has joined the groups of the start");
  }
}

}  // namespace
}  // namespace cw::site
