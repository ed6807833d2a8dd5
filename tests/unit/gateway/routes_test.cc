#include "dataplane/gateway/routes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "dataplane/base/limits.h"
#include "tests/property/property.h"
#include "tests/unit/gateway/packets.h"

namespace cw::gateway::test {
namespace {

Routes made(const std::vector<PeerRoutes>& peers) {
  auto routes = Routes::make(peers);
  EXPECT_TRUE(routes.has_value()) << (routes ? "" : routes.error().sentence);
  return routes ? *routes : Routes();
}
std::string sentence_of(const std::vector<PeerRoutes>& peers) {
  const auto routes = Routes::make(peers);
  return routes ? "" : routes.error().sentence;
}

TEST(Routes, the_longest_prefix_decides) {
  const Routes routes =
      made({{3, "all", {prefix(v4(0, 0, 0, 0), 0)}},
            {5, "tokyo", {prefix(v4(10, 0, 0, 0), 8)}},
            {7, "osaka", {prefix(v4(10, 1, 0, 0), 16), prefix(v4(10, 9, 9, 9), 32)}}});
  EXPECT_EQ(routes.find(v4(9, 255, 255, 255), false), 3);
  EXPECT_EQ(routes.find(v4(10, 0, 255, 255), false), 5);
  EXPECT_EQ(routes.find(v4(10, 1, 0, 0), false), 7);
  EXPECT_EQ(routes.find(v4(10, 1, 255, 255), false), 7);
  EXPECT_EQ(routes.find(v4(10, 2, 0, 0), false), 5);
  EXPECT_EQ(routes.find(v4(10, 9, 9, 9), false), 7);
  EXPECT_EQ(routes.find(v4(10, 9, 9, 10), false), 5);
  EXPECT_EQ(routes.find(v4(255, 255, 255, 255), false), 3);
  EXPECT_EQ(routes.find(v6({0x0a01}), true), std::nullopt) << "no IPv6 route at all";
}

TEST(Routes, without_any_lead_nowhere) {
  EXPECT_EQ(made({}).find(v4(10, 0, 0, 1), false), std::nullopt);
  EXPECT_EQ(made({}).find(v6({0xfd00}), true), std::nullopt);
}

TEST(Routes, that_touch_or_end_together_are_told_apart) {
  const Routes routes = made({{1, "a", {prefix(v4(10, 0, 0, 0), 9), prefix(v4(10, 255, 0, 0), 16)}},
                              {2, "b", {prefix(v4(10, 128, 0, 0), 9)}},
                              {3, "c", {prefix(v4(10, 255, 255, 255), 32)}}});
  EXPECT_EQ(routes.find(v4(10, 127, 255, 255), false), 1);
  EXPECT_EQ(routes.find(v4(10, 128, 0, 0), false), 2);
  EXPECT_EQ(routes.find(v4(10, 255, 0, 0), false), 1);
  EXPECT_EQ(routes.find(v4(10, 255, 255, 255), false), 3);
  EXPECT_EQ(routes.find(v4(11, 0, 0, 0), false), std::nullopt);
}

TEST(Routes, one_prefix_has_one_peer) {
  const Prefix same = prefix(v4(10, 1, 0, 0), 16);
  EXPECT_EQ(sentence_of({{0, "tokyo", {same}}, {1, "osaka", {same}}}),
            "the route 10.1.0.0/16 is given to peer \"tokyo\" and to peer \"osaka\": a prefix has "
            "one peer");
  EXPECT_EQ(sentence_of({{0, "tokyo", {same, same}}}), "") << "twice the same is no contradiction";
  EXPECT_EQ(sentence_of({{0, "tokyo", {same}}, {1, "osaka", {prefix(v4(10, 1, 0, 0), 17)}}}), "");
  EXPECT_EQ(
      sentence_of({{0, "a", {prefix(v6({0xfd00, 1}), 32, true)}},
                   {1, "b", {prefix(v6({0xfd00, 1}), 32, true)}}}),
      "the route fd00:1:0:0:0:0:0:0/32 is given to peer \"a\" and to peer \"b\": a prefix has "
      "one peer");
}

TEST(Routes, wrong_prefixes_are_named) {
  EXPECT_EQ(sentence_of({{0, "a", {prefix(v4(10, 1, 2, 3), 16)}}}),
            "peer \"a\": the prefix 10.1.2.3/16 has address bits behind its length: is 10.1.0.0/16 "
            "meant?");
  EXPECT_EQ(sentence_of({{0, "a", {prefix(v6({0xfd00, 1}, 9), 64, true)}}}),
            "peer \"a\": the prefix fd00:1:0:0:0:0:0:9/64 has address bits behind its length: is "
            "fd00:1:0:0:0:0:0:0/64 meant?");
  EXPECT_EQ(sentence_of({{0, "a", {prefix(v4(10, 0, 0, 0), 33)}}}),
            "peer \"a\": the prefix 10.0.0.0/33 is longer than an address: 0 to 32 bits");
}

TEST(Routes, serve_as_many_peers_as_a_port_may_have) {
  std::vector<PeerRoutes> peers;
  for (uint16_t i = 0; i < limits::peers_max; ++i) {
    peers.push_back(
        {i, "p" + std::to_string(i), {prefix(v4(10, static_cast<uint8_t>(i), 0, 0), 16)}});
  }
  const Routes routes = made(peers);
  EXPECT_EQ(routes.find(v4(10, 63, 1, 1), false), 63);
  peers.push_back({0, "one more", {}});
  EXPECT_EQ(sentence_of(peers), "there are 65 peers: at most 64");
  EXPECT_EQ(sentence_of({{64, "far", {}}}), "peer \"far\" has the number 64: 0 to 63");
}

bool covers(const Prefix& prefix, const Address& address) {
  for (unsigned bit = 0; bit < prefix.bits; ++bit) {
    const unsigned shift = 7 - bit % 8;
    if ((prefix.address[bit / 8] >> shift & 1) != (address[bit / 8] >> shift & 1)) return false;
  }
  return true;
}

std::optional<uint16_t> linear_find(const std::vector<PeerRoutes>& peers, const Address& address,
                                    bool is_v6) {
  std::optional<uint16_t> best;
  int bits = -1;
  for (const PeerRoutes& peer : peers) {
    for (const Prefix& route : peer.routes) {
      if (route.is_v6 != is_v6 || route.bits <= bits || !covers(route, address)) continue;
      best = peer.peer;
      bits = route.bits;
    }
  }
  return best;
}

/// An address near the borders of others: its bytes are the extremes, mostly.
Address any_address(Prng& prng, bool is_v6) {
  Address address{};
  constexpr uint8_t bytes[] = {0, 0, 0, 1, 127, 128, 255, 255};
  for (size_t i = 0; i < (is_v6 ? 16u : 4u); ++i) address[i] = bytes[prng.below(8)];
  return address;
}

Prefix any_prefix(Prng& prng) {
  Prefix any;
  any.is_v6 = prng.chance(0.5);
  any.bits = static_cast<uint8_t>(prng.below(any.is_v6 ? 129 : 33));
  any.address = any_address(prng, any.is_v6);
  for (unsigned bit = any.bits; bit < 128; ++bit) {
    any.address[bit / 8] &= static_cast<uint8_t>(~(0x80u >> bit % 8));
  }
  return any;
}

RC_GTEST_PROP(Routes, find_what_a_linear_search_finds, (uint64_t seed)) {
  Prng prng(seed);
  std::vector<PeerRoutes> peers;
  for (uint16_t i = 0; i < 1 + prng.below(4); ++i) peers.push_back({i, "p", {}});
  std::vector<Prefix> seen;
  for (size_t count = prng.below(60); count > 0; --count) {
    const Prefix any = any_prefix(prng);
    const bool is_new = std::ranges::none_of(seen, [&any](const Prefix& other) {
      return other.is_v6 == any.is_v6 && other.bits == any.bits && other.address == any.address;
    });
    if (!is_new) continue;
    seen.push_back(any);
    peers[prng.below(peers.size())].routes.push_back(any);
  }
  const Routes routes = made(peers);
  for (int i = 0; i < 200; ++i) {
    const bool is_v6 = prng.chance(0.5);
    const Address address = any_address(prng, is_v6);
    RC_ASSERT(routes.find(address, is_v6) == linear_find(peers, address, is_v6));
  }
}

}  // namespace
}  // namespace cw::gateway::test
