// How packets are spread over equal links: a flow stays in order, and paths and spraying use all.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/unit/port_fabric/talk.h"

namespace cw::test {
namespace {

using namespace literals;

/// How many packets each uplink of leaf 0 took.
std::vector<uint64_t> uplink_packets(const FabricNetwork& network, size_t spines) {
  std::vector<uint64_t> packets;
  for (uint16_t spine = 0; spine < spines; ++spine) {
    const auto link = network.topology().find_link(
        FabricNode::at_switch(0), FabricNode::at_switch(static_cast<uint16_t>(2 + spine)));
    packets.push_back(network.counters_of(*link).packets);
  }
  std::ranges::sort(packets);
  return packets;
}

/// Each of leaf 0's hosts sends a hundred numbered packets of drawn lengths to one of leaf 1's.
std::vector<Heard> send_rows(Talk& talk, size_t hosts, uint16_t paths) {
  Prng prng(3);
  for (int i = 0; i < 100; ++i) {
    for (uint16_t host = 0; host < hosts; ++host) {
      std::string text = std::to_string(i) + ' ';
      text.resize(prng.between(8, 900), '.');
      talk.say(host, static_cast<uint16_t>(hosts + (host + 1) % hosts), text,
               {.path = static_cast<uint16_t>(i % paths)});
    }
  }
  return talk.hear_all();
}

size_t out_of_order(const std::vector<Heard>& all) {
  std::map<std::pair<uint16_t, uint16_t>, int> last;
  size_t count = 0;
  for (const Heard& heard : all) {
    const int number = std::stoi(heard.text);
    const auto [at, is_new] = last.try_emplace({heard.from, heard.path}, number);
    count += !is_new && number < at->second;
    at->second = number;
  }
  return count;
}

TEST(FabricBalance, a_flow_stays_in_order_on_one_way) {
  Talk talk(two_leaves(8, 4));
  const auto heard = send_rows(talk, 8, 1);
  EXPECT_EQ(heard.size(), 800u);
  EXPECT_EQ(out_of_order(heard), 0u);
  for (const uint64_t packets : uplink_packets(talk.network, 4)) EXPECT_EQ(packets % 100, 0u);
}

TEST(FabricBalance, the_paths_of_one_pair_use_several_ways_and_each_stays_in_order) {
  Talk talk(two_leaves(8, 4));
  const auto heard = send_rows(talk, 8, 16);
  EXPECT_EQ(out_of_order(heard), 0u);
  EXPECT_GT(uplink_packets(talk.network, 4).front(), 100u);
}

TEST(FabricBalance, spraying_uses_all_ways_alike_and_packets_overtake) {
  Talk talk(two_leaves(8, 4), {.balance = FabricBalance::Packet});
  const auto heard = send_rows(talk, 8, 1);
  EXPECT_EQ(heard.size(), 800u);
  EXPECT_GT(out_of_order(heard), 10u);
  EXPECT_GT(uplink_packets(talk.network, 4).front(), 150u);
}

}  // namespace
}  // namespace cw::test
