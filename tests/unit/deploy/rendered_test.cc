// The files that a deployment comes to.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "control/gateway/changes.h"
#include "tests/unit/deploy/sites.h"

namespace cw::deploy {
namespace {

const SiteFile& file(const std::vector<SiteFile>& files, const std::string& name) {
  for (const SiteFile& each : files) {
    if (each.name == name) return each;
  }
  ADD_FAILURE() << name;
  return files.front();
}

/// That of which everything else follows that two gateways must have alike.
void expect_alike(const std::vector<SiteFile>& files) {
  for (const SiteFile& each : files) {
    EXPECT_EQ(each.plan.peers.front().control.pair_keys,
              files.front().plan.peers.front().control.pair_keys)
        << each.name;
  }
}

TEST(Rendered, each_file_is_read_back_as_it_was_made_and_all_agree) {
  for (const int count : {2, 3, 5, 8, 16}) {
    const auto files = files_of(
        deployment_text(count,
                        "[[class]]\nname = \"rdma\"\nmatch = [{ kind = \"roce\", dscp = 26 }]\n"
                        "host_timeout = \"268.4 ms\"\n[[class]]\nname = \"all\"\n[class.params]\n"
                        "alpha = 2.5\n"));
    for (const SiteFile& each : files) {
      const auto plan = plan_of(each.name, each.text);
      ASSERT_TRUE(plan) << plan.error().sentence << "\n" << each.text;
      EXPECT_EQ(plan->peer_count(), static_cast<size_t>(count - 1));
      EXPECT_EQ(plan->site, each.name);
      EXPECT_TRUE(site::changes_between(config::parse_toml(each.text).value(), each.tree).empty());
    }
    expect_alike(files);
  }
}

TEST(Rendered, twins_are_peers_of_the_others_and_not_of_each_other) {
  const auto files =
      files_of(deployment_text(2) + "[[site.peer]]\nname = \"twin\"\nprefer = 200\n" +
               site_text(3) + twin_text("prefer = 50\nlan.addresses = [\"10.1.0.2/16\"]\n"));
  const auto preferred = [](const SiteFile& each) {
    std::string row;
    for (const gateway::PeerRoutes& peer : each.plan.gateway.peers) {
      row += peer.name + " " + std::to_string(peer.prefer) + "; ";
    }
    return row;
  };
  EXPECT_EQ(preferred(file(files, "s1")), "s2 100; s3 100; ");
  EXPECT_EQ(preferred(file(files, "s2")), "s1 100; s3 100; twin 200; ");
  EXPECT_EQ(preferred(file(files, "s3")), "s1 100; s2 100; twin 50; ");
  EXPECT_EQ(preferred(file(files, "twin")), "s2 100; s3 100; ");
  expect_alike(files);
}

TEST(Rendered, has_the_longest_rtt_and_the_smallest_mtu_of_all_links_and_says_whose) {
  const auto files = files_of(
      deployment_text(3,
                      "[[link]]\nbetween = [\"s2\", \"s3\"]\nrtt = \"31 ms\"\n"
                      "[[link]]\nbetween = [\"s1\", \"s3\"]\nmtu = 1400\nrtt = \"5 ms\"\n"));
  for (const SiteFile& each : files) {
    EXPECT_EQ(each.plan.rtt, Duration::from_ms(31));
    EXPECT_TRUE(each.text.contains("rtt = \"31 ms\"  # the longest link, s2 - s3\n")) << each.text;
    EXPECT_TRUE(each.text.contains("mtu = 1400  # the narrowest link, s1 - s3\n")) << each.text;
  }
}

TEST(Rendered, an_rtt_that_no_link_has_does_not_count) {
  const auto files =
      files_of(deployment_text(2, "[[link]]\nbetween = [\"s2\", \"s1\"]\nrtt = \"7 ms\"\n"));
  EXPECT_EQ(files[0].plan.rtt, Duration::from_ms(7));
}

TEST(Rendered, pair_rate_and_links_are_those_of_the_largest_site) {
  const auto files =
      files_of(deployment_text(2) + site_text(3, "wan.rate = \"1 Gbit/s\"\ncores = [0, 1, 2]\n"));
  for (const SiteFile& each : files) {
    EXPECT_EQ(each.plan.link_rate, Rate::from_mbps(1000)) << each.text;
    EXPECT_EQ(each.plan.links, 3);
  }
  expect_alike(files);
}

TEST(Rendered, a_site_says_otherwise_and_all_have_room_for_it) {
  const auto files = files_of(deployment_text(
      2,
      "[[site.class]]\nname = \"all\"\npolicy = \"erasure\"\nweight = 3\n"
      "[[site.peer]]\nname = \"s1\"\naddress = \"203.0.113.9\"\n"
      "[[class]]\nname = \"all\"\npolicy = \"selective_repeat\"\nparams = { alpha = 3 }\n"));
  EXPECT_EQ(files[0].plan.classes[0].policy, "selective_repeat");
  EXPECT_EQ(files[1].plan.classes[0].policy, "erasure");
  EXPECT_FALSE(files[1].text.contains("alpha"));
  EXPECT_TRUE(files[1].text.contains("203.0.113.9"));
  EXPECT_TRUE(files[0].text.contains("policies = [\"selective_repeat\", \"erasure\"]"));
  expect_alike(files);
}

TEST(Rendered, room_that_differs_is_a_mistake_of_two_sites) {
  const std::string told = mistakes_of(
      deployment_text(2,
                      "[[site.class]]\nname = \"all\"\npolicy = \"hybrid\"\nparams = { k = 64 }\n"
                      "[[class]]\nname = \"all\"\npolicies = []\n"));
  EXPECT_TRUE(
      told.contains("sites \"s1\" and \"s2\" would carry nothing: the largest block of "
                    "class.all.policies is"))
      << told;
}

TEST(Rendered, only_listed_links_where_not_all_are_meant) {
  const auto files =
      files_of("mesh = \"listed\"\n" + deployment_text(3,
                                                       "[[link]]\nbetween = [\"s1\", \"s2\"]\n"
                                                       "[[link]]\nbetween = [\"s1\", \"s3\"]\n"));
  EXPECT_EQ(file(files, "s1").plan.peer_count(), 2u);
  EXPECT_EQ(file(files, "s2").plan.peer_count(), 1u);
  EXPECT_EQ(file(files, "s3").plan.peer_count(), 1u);
}

TEST(Rendered, groups_are_the_site_s_that_has_them) {
  const auto files = files_of(deployment_text(2) +
                              "lan.prefixes = [\"10.2.0.0/16\"]\n[[site.group]]\naddress = "
                              "\"239.1.2.3\"\nsites = [\"s1\"]\nttl = 7\n");
  EXPECT_TRUE(file(files, "s1").plan.gateway.groups.empty());
  const auto& groups = file(files, "s2").plan.gateway.groups;
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].peers, std::vector<std::string>{"s1"});
  EXPECT_EQ(groups[0].ttl, 7);
  EXPECT_EQ(
      mistakes_of(deployment_text(2) + "[[site.group]]\naddress = \"239.1.2.3\"\n"),
      "file:15:11: site \"s2\": group.address \"239.1.2.3\" has nobody here who may send to it: "
      "lan.prefixes names no IPv4 prefix, such as \"10.1.0.0/16\"");
}

TEST(Rendered, names_with_quotes_and_letters_of_the_world_come_back) {
  const auto files = files_of(deployment_text(1) +
                              "[[site]]\nname = 'zu\"rich é'\naddress = \"192.0.2.7\"\n"
                              "routes = [\"10.7.0.0/16\"]\nwan.overhead_limit = 0.1\n");
  EXPECT_EQ(files[1].plan.site, "zu\"rich é");
}

TEST(Rendered, the_example_is_right_and_has_no_warnings) {
  std::ifstream stream(std::string(CW_SOURCE_DIR) + "/configs/deployment.toml");
  std::ostringstream text;
  text << stream.rdbuf();
  const Checked checked = check(text.str(), "");
  EXPECT_EQ(config::to_text(checked.mistakes, "deployment.toml"), "");
  EXPECT_TRUE(checked.warnings.empty()) << checked.warnings.front();
  EXPECT_EQ(checked.files.size(), 4u);
  expect_alike(checked.files);
}

TEST(Keys, are_listed_with_those_of_a_gateway) {
  const std::string all = all_keys();
  for (const char* const part :
       {"[[site]]", "[site.wan.impair.gilbert_elliott]", "[[link]]", "between = []", "[[class]]",
        "[defaults.lan]", "[[site.class]]", "mesh = \"full\""}) {
    EXPECT_TRUE(all.contains(part)) << part;
  }
}

}  // namespace
}  // namespace cw::deploy
