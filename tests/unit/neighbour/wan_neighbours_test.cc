// The next hops of peers: as they are written, shared, heard and asked for.
#include "dataplane/neighbour/wan_neighbours.h"

#include <gtest/gtest.h>

namespace cw::test {
namespace {
using namespace literals;

constexpr MacAddress router_mac = {2, 0, 0, 0, 0, 9};
const Instant start = Instant() + 100_s;

HostAddress host(const char* text) { return *parse_host_address(text, "test"); }
Neighbour hop(const char* text, const char* peer) { return *parse_next_hop(text, host(peer)); }

NeighbourMessage said_by(const char* sender, bool is_question, const char* target) {
  return {.is_question = is_question,
          .sender = host(sender),
          .sender_mac = router_mac,
          .target = host(target)};
}

TEST(NextHop, is_a_mac_a_router_or_the_peer_itself) {
  const Neighbour fixed = hop("02:00:00:00:00:09", "192.0.2.2");
  EXPECT_TRUE(fixed.is_fixed && fixed.is_known && fixed.mac == router_mac);
  EXPECT_EQ(hop("192.0.2.254", "192.0.2.2").ip, host("192.0.2.254"));
  EXPECT_EQ(hop("", "192.0.2.2").ip, host("192.0.2.2"));
}

TEST(NextHop, is_refused_with_what_is_wrong) {
  for (const char* text : {"01:00:00:00:00:00", "fe80::1", "there"}) {
    const auto refused = parse_next_hop(text, host("192.0.2.2"));
    ASSERT_FALSE(refused) << text;
    EXPECT_TRUE(refused.error().sentence.starts_with("next_hop: ")) << refused.error().sentence;
  }
}

TEST(WanNeighbours, peers_behind_one_router_share_what_is_heard_of_it) {
  WanNeighbours neighbours(host("192.0.2.1"));
  neighbours.add_peer(hop("192.0.2.254", "198.51.100.1"));
  neighbours.add_peer(hop("192.0.2.254", "198.51.100.2"));
  neighbours.add_peer(hop("", "192.0.2.3"));
  EXPECT_EQ(neighbours.unresolved(), (std::vector<std::string>{"192.0.2.254", "192.0.2.3"}));
  EXPECT_FALSE(neighbours.hear(said_by("192.0.2.254", false, "192.0.2.1"), start));
  EXPECT_EQ(neighbours.hop_of(0).mac, router_mac);
  EXPECT_EQ(neighbours.hop_of(1).mac, router_mac);
  EXPECT_FALSE(neighbours.hop_of(2).is_known);
  EXPECT_EQ(neighbours.unresolved(), std::vector<std::string>{"192.0.2.3"});
}

TEST(WanNeighbours, only_questions_for_us_of_somebody_want_an_answer) {
  WanNeighbours neighbours(host("192.0.2.1"));
  neighbours.add_peer(hop("", "192.0.2.2"));
  EXPECT_TRUE(neighbours.hear(said_by("192.0.2.7", true, "192.0.2.1"), start));
  EXPECT_FALSE(neighbours.hear(said_by("192.0.2.7", false, "192.0.2.1"), start));
  EXPECT_FALSE(neighbours.hear(said_by("192.0.2.7", true, "192.0.2.3"), start));
  EXPECT_FALSE(neighbours.hear(said_by("0.0.0.0", true, "192.0.2.1"), start));
  EXPECT_FALSE(neighbours.hear(said_by("fe80::7", true, "fe80::1"), start));
  EXPECT_FALSE(neighbours.hop_of(0).is_known) << "a stranger is not the peer";
}

TEST(WanNeighbours, each_is_asked_once_a_second_until_it_answers_and_in_doubt) {
  WanNeighbours neighbours(host("192.0.2.1"));
  neighbours.add_peer(hop("", "192.0.2.2"));
  neighbours.add_peer(hop("02:00:00:00:00:09", "192.0.2.3"));
  neighbours.add_peer(hop("", "192.0.2.4"));
  const auto asked_at = [&](Instant now) {
    std::vector<std::string> asked;
    while (Neighbour* const it = neighbours.next_to_ask(now)) asked.push_back(text_of(it->ip));
    return asked;
  };
  const std::vector<std::string> both = {"192.0.2.2", "192.0.2.4"};
  EXPECT_EQ(asked_at(start), both);
  EXPECT_TRUE(asked_at(start + 900_ms).empty());
  neighbours.hear(said_by("192.0.2.2", false, "192.0.2.1"), start + 900_ms);
  EXPECT_EQ(asked_at(start + 1_s), std::vector<std::string>{"192.0.2.4"});
  neighbours.doubt_all();
  EXPECT_EQ(asked_at(start + 1_s), both);
}

}  // namespace
}  // namespace cw::test
