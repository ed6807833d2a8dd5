// What `causeway-perf broadcast --port udp` is told.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "control/perf/collective/options.h"

namespace cw::perf {
namespace {

using Words = std::vector<std::string>;

Result<CollectiveOptions> parse_member(const Words& more) {
  Words all{"causeway-perf", "broadcast", "--port", "udp"};
  all.insert(all.end(), more.begin(), more.end());
  std::vector<char*> words;
  for (std::string& word : all) words.push_back(word.data());
  return parse_collective(words);
}

TEST(CollectiveOptions, members_come_from_a_list) {
  const auto options =
      parse_member({"--members", "192.0.2.1,192.0.2.2:5000,192.0.2.3", "--group", "239.1.1.1",
                    "--rank", "2", "--interface", "eth7", "--ttl", "3"});
  ASSERT_TRUE(options) << options.error().sentence;
  EXPECT_EQ(options->place.members, (Words{"192.0.2.1", "192.0.2.2:5000", "192.0.2.3"}));
  EXPECT_EQ(options->hosts, 3);
  EXPECT_EQ(options->place.rank, 2);
  EXPECT_EQ(options->place.group, "239.1.1.1");
  EXPECT_EQ(options->place.interface, "eth7");
  EXPECT_EQ(options->place.hops, 3);
  EXPECT_EQ(options->place.udp_port, 4791);
  EXPECT_EQ(options->rate, Rate::from_gbps(1));
}

TEST(CollectiveOptions, sites_are_ranks_in_a_row) {
  const Words four{"--members", "192.0.2.1,192.0.2.2,192.0.2.3,192.0.2.4", "--group", "239.1.1.1"};
  const auto parse_sites = [&](Words more) {
    more.insert(more.begin(), four.begin(), four.end());
    return parse_member(more);
  };
  const auto two = parse_sites({"--sites", "2", "--site-group", "239.1.1.2"});
  ASSERT_TRUE(two) << two.error().sentence;
  EXPECT_EQ(sites_of(*two), (std::vector<uint16_t>{0, 0, 1, 1}));
  EXPECT_TRUE(sites_of(*parse_sites({})).empty());
  EXPECT_EQ(parse_sites({"--sites", "2"}).error().sentence,
            "--site-group: name the multicast address of this site's members");
  EXPECT_EQ(parse_sites({"--sites", "3", "--site-group", "239.1.1.2"}).error().sentence,
            "--sites: 4 hosts cannot be divided evenly among 3");
}

TEST(CollectiveOptions, members_and_key_come_from_files) {
  const std::string members = testing::TempDir() + "causeway_members_" + std::to_string(getpid());
  const std::string key = members + "_key";
  std::ofstream(members) << "192.0.2.1\n192.0.2.2\n\n192.0.2.3\n192.0.2.4";
  std::ofstream(key) << "seventeen bytes !";
  const auto options =
      parse_member({"--members", members, "--group", "239.1.1.1", "--key-file", key});
  ASSERT_TRUE(options) << options.error().sentence;
  EXPECT_EQ(options->hosts, 4);
  EXPECT_EQ(options->place.members.back(), "192.0.2.4");
  EXPECT_EQ(options->place.key, "seventeen bytes !");
  std::ofstream(key) << "short";
  const auto refused =
      parse_member({"--members", members, "--group", "239.1.1.1", "--key-file", key});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().sentence, "--key-file: a secret has 16 bytes or more");
  std::remove(members.c_str());
  std::remove(key.c_str());
}

TEST(CollectiveOptions, mistakes_name_the_option) {
  const auto refused = [](const Words& words, const std::string& sentence) {
    const auto options = parse_member(words);
    ASSERT_FALSE(options) << sentence;
    EXPECT_TRUE(options.error().sentence.starts_with(sentence)) << options.error().sentence;
  };
  refused({}, "--members: 0 named, 2 to 16384 accepted");
  refused({"--members", "192.0.2.1"}, "--members: 1 named");
  refused({"--members", "192.0.2.1,192.0.2.2"}, "--group: name the multicast address");
  refused({"--members", "192.0.2.1,192.0.2.2", "--rank", "2"}, "--rank: there are not so many");
  refused({"--members", "a,b", "--group", "239.1.1.1", "--rate", "fast"}, "--rate: ");
}

}  // namespace
}  // namespace cw::perf
