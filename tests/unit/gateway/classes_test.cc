// Which class a frame is of, and which way it goes.
#include <gtest/gtest.h>

#include <algorithm>

#include "dataplane/base/limits.h"
#include "dataplane/gateway/rules/classes.h"
#include "dataplane/gateway/rules/routes.h"
#include "tests/property/property.h"
#include "tests/unit/gateway/packets.h"

namespace cw::gateway::test {
namespace {

// ---- classes ----

ClassOptions class_with(std::string name, uint16_t qp, std::vector<ClassMatch> matches) {
  ClassOptions options;
  options.name = std::move(name);
  options.qp = qp;
  options.matches = std::move(matches);
  return options;
}
Classes made(const std::vector<ClassOptions>& options) {
  auto classes = Classes::make(options);
  EXPECT_TRUE(classes.has_value()) << (classes ? "" : classes.error().sentence);
  return classes ? *classes : Classes();
}
std::string sentence_of(const std::vector<ClassOptions>& options) {
  const auto classes = Classes::make(options);
  return classes ? "" : classes.error().sentence;
}
std::string sentence_of(const ClassMatch& match) {
  return sentence_of({class_with("bulk", 0, {match})});
}
IpPacket parsed(const Shape& shape) { return parse_ip_packet(make_packet(shape)).value(); }

TEST(Classes, the_first_that_matches_takes_the_packet) {
  const Classes classes = made(
      {class_with("rdma", 0, {{.kind = PacketKind::RoceRc}, {.dscp = 46}}),
       class_with("bulk", 1, {{.kind = PacketKind::Tcp, .target_ports = PortRange{5201, 5210}}}),
       class_with("rest", 2, {})});
  EXPECT_EQ(classes.class_of(parsed({.payload = roce(0x04, 1)})), 0);
  EXPECT_EQ(classes.class_of(parsed({.protocol = icmp, .dscp = 46})), 0);
  const auto tcp_to = [&](uint16_t port) {
    return classes.class_of(parsed({.protocol = tcp, .payload = ports(1, port)}));
  };
  EXPECT_EQ(tcp_to(5200), 2);
  EXPECT_EQ(tcp_to(5201), 1);
  EXPECT_EQ(tcp_to(5210), 1);
  EXPECT_EQ(tcp_to(5211), 2);
}

TEST(Classes, a_packet_without_ports_matches_no_range_of_ports) {
  const Classes classes = made({class_with("all", 0, {{.source_ports = PortRange{0, 65535}}})});
  EXPECT_EQ(classes.class_of(parsed({.payload = ports(1, 2)})), 0);
  EXPECT_EQ(classes.class_of(parsed({.protocol = icmp})), Classes::none);
  EXPECT_EQ(classes.class_of(parsed({.payload = ports(1, 2), .more_fragments = true})),
            Classes::none);
}

TEST(Classes, a_prefix_matches_its_ip_version_only) {
  const Classes classes = made({class_with("v4", 0, {{.target = prefix(v4(0, 0, 0, 0), 0)}}),
                                class_with("v6", 1, {{.source = prefix(v6({0x0a01}), 16, true)}})});
  EXPECT_EQ(classes.class_of(parsed({})), 0);
  EXPECT_EQ(classes.class_of(parsed({.is_v6 = true, .source = v6({0x0a01, 7})})), 1);
  EXPECT_EQ(classes.class_of(parsed({.is_v6 = true, .source = v6({0x0a02})})), Classes::none);
}

TEST(Classes, contradictions_are_named) {
  EXPECT_EQ(sentence_of(std::vector<ClassOptions>{}),
            "there is no class: at least one must take the traffic");
  EXPECT_EQ(sentence_of({class_with("a", 0, {}), class_with("a", 1, {})}),
            "two classes are called \"a\": give each its own name");
  EXPECT_EQ(sentence_of({class_with("a", 4, {}), class_with("b", 4, {})}),
            "classes \"a\" and \"b\" have the same qp, 4: each class needs its own");
  EXPECT_EQ(sentence_of(ClassMatch{.dscp = 64}), "class \"bulk\": dscp is 64: 0 to 63");
  EXPECT_EQ(sentence_of(ClassMatch{.target_ports = PortRange{9, 8}}),
            "class \"bulk\": target_ports run from 9 to 8: the first must not be above the last");
  EXPECT_EQ(sentence_of(ClassMatch{.source_ports = PortRange{9, 8}}),
            "class \"bulk\": source_ports run from 9 to 8: the first must not be above the last");
  EXPECT_EQ(sentence_of(ClassMatch{.source = prefix(v4(10, 0, 0, 0), 8),
                                   .target = prefix(v6({0xfd00}), 8, true)}),
            "class \"bulk\": source 10.0.0.0/8 and target fd00:0:0:0:0:0:0:0/8 are of two IP "
            "versions: no packet has both");
  EXPECT_EQ(sentence_of(ClassMatch{.source = prefix(v4(10, 0, 0, 1), 8)}),
            "class \"bulk\": the prefix 10.0.0.1/8 has address bits behind its length: is "
            "10.0.0.0/8 meant?");
  std::vector<ClassOptions> many;
  for (uint16_t i = 0; i <= limits::qps_max; ++i)
    many.push_back(class_with(std::to_string(i), i, {}));
  EXPECT_EQ(sentence_of(many), "there are 65 classes: 1 to 64");
}

TEST(Order, by_kind_keeps_what_its_protocol_needs) {
  struct Row {
    Shape shape;
    FrameOrder order;
  };
  const auto of_roce = [](uint8_t opcode) { return Shape{.payload = roce(opcode, 1)}; };
  const Row rows[] = {
      {{.protocol = tcp}, FrameOrder::InTurn},
      {of_roce(0x04), FrameOrder::InTurn},  // SEND
      {of_roce(0x0c), FrameOrder::InTurn},  // READ request
      {of_roce(0x10), FrameOrder::InTurn},  // READ response
      {of_roce(0x12), FrameOrder::InTurn},  // ATOMIC acknowledge
      {of_roce(0x11), FrameOrder::Behind},  // acknowledge
      {of_roce(0x2a), FrameOrder::InTurn},  // UC: out of order is lost
      {of_roce(0x64), FrameOrder::AtOnce},  // UD
      {of_roce(0x81), FrameOrder::AtOnce},  // CNP
      {of_roce(0xff), FrameOrder::InTurn},
      {{.protocol = udp}, FrameOrder::AtOnce},
      {{.protocol = udp, .more_fragments = true}, FrameOrder::AtOnce},
      {{.protocol = icmp}, FrameOrder::AtOnce},
      {{.is_v6 = true, .protocol = icmpv6}, FrameOrder::AtOnce},
      {{.protocol = 50}, FrameOrder::InTurn},
  };
  std::vector<ClassOptions> options = {class_with("by kind", 0, {}), class_with("always", 1, {}),
                                       class_with("never", 2, {})};
  options[1].order = OrderRule::Always;
  options[2].order = OrderRule::Never;
  const Classes classes = made(options);
  for (const Row& row : rows) {
    const IpPacket packet = parsed(row.shape);
    EXPECT_EQ(classes.order_of(0, packet), row.order) << &row - rows;
    EXPECT_EQ(classes.order_of(1, packet), FrameOrder::InTurn);
    EXPECT_EQ(classes.order_of(2, packet), FrameOrder::AtOnce);
  }
}

bool naive_covers(const std::optional<Prefix>& prefix, const Address& address, bool is_v6) {
  if (!prefix) return true;
  if (prefix->is_v6 != is_v6) return false;
  for (unsigned bit = 0; bit < prefix->bits; ++bit) {
    const unsigned difference = prefix->address[bit / 8] ^ address[bit / 8];
    if (difference >> (7 - bit % 8) & 1) return false;
  }
  return true;
}
bool naive_covers(const std::optional<PortRange>& range, const IpPacket& packet, uint16_t port) {
  return !range || (packet.has_ports && port >= range->first && port <= range->last);
}
bool naive_holds(const ClassMatch& match, const IpPacket& packet) {
  return (!match.kind || *match.kind == packet.kind) &&
         (!match.dscp || *match.dscp == packet.dscp) &&
         naive_covers(match.source_ports, packet, packet.source_port) &&
         naive_covers(match.target_ports, packet, packet.target_port) &&
         naive_covers(match.source, packet.source, packet.is_v6) &&
         naive_covers(match.target, packet.target, packet.is_v6);
}
uint16_t naive_class_of(const std::vector<ClassOptions>& classes, const IpPacket& packet) {
  for (size_t i = 0; i < classes.size(); ++i) {
    if (classes[i].matches.empty()) return static_cast<uint16_t>(i);
    for (const ClassMatch& match : classes[i].matches) {
      if (naive_holds(match, packet)) return static_cast<uint16_t>(i);
    }
  }
  return Classes::none;
}

Prefix any_prefix(Prng& prng, bool is_v6) {
  Prefix any;
  any.is_v6 = is_v6;
  any.bits = static_cast<uint8_t>(prng.below(is_v6 ? 20 : 18));
  for (unsigned i = 0; i < 3; ++i) any.address[i] = static_cast<uint8_t>(prng.below(3));
  for (unsigned bit = any.bits; bit < 128; ++bit) {
    any.address[bit / 8] &= static_cast<uint8_t>(~(0x80u >> bit % 8));
  }
  return any;
}

ClassMatch any_match(Prng& prng) {
  ClassMatch match;
  if (prng.chance(0.4)) match.kind = static_cast<PacketKind>(prng.below(6));
  if (prng.chance(0.1)) match.dscp = static_cast<uint8_t>(prng.below(64));
  const auto range = [&prng] {
    const auto first = static_cast<uint16_t>(prng.below(5));
    return PortRange{first, static_cast<uint16_t>(first + prng.below(4))};
  };
  if (prng.chance(0.2)) match.source_ports = range();
  if (prng.chance(0.2)) match.target_ports = range();
  const bool is_v6 = prng.chance(0.5);
  if (prng.chance(0.2)) match.source = any_prefix(prng, is_v6);
  if (prng.chance(0.2)) match.target = any_prefix(prng, is_v6);
  return match;
}

RC_GTEST_PROP(Classes, choose_as_a_naive_reading_of_the_rules_does, (uint64_t seed)) {
  Prng prng(seed);
  std::vector<ClassOptions> options;
  for (uint16_t i = 0; i < 1 + prng.below(5); ++i) {
    std::vector<ClassMatch> matches;
    for (size_t count = prng.below(8) == 0 ? 0 : 1 + prng.below(3); count > 0; --count) {
      matches.push_back(any_match(prng));
    }
    options.push_back(class_with(std::to_string(i), i, std::move(matches)));
  }
  const Classes classes = made(options);
  for (int i = 0; i < 50; ++i) {
    const IpPacket packet = parsed(any_shape(prng));
    RC_ASSERT(classes.class_of(packet) == naive_class_of(options, packet));
  }
}

// ---- routes ----

Routes routes_of(const std::vector<PeerRoutes>& peers) {
  auto routes = Routes::make(peers);
  EXPECT_TRUE(routes.has_value()) << (routes ? "" : routes.error().sentence);
  return routes ? *routes : Routes();
}
std::string route_sentence(const std::vector<PeerRoutes>& peers) {
  const auto routes = Routes::make(peers);
  return routes ? "" : routes.error().sentence;
}

/// A prefix of several peers, by standing and preference.
PeerRoutes sharer(uint16_t peer, Standing standing, uint16_t prefer) {
  return {.peer = peer,
          .name = "p" + std::to_string(peer),
          .routes = {prefix(v4(10, 0, 0, 0), 8)},
          .standing = standing,
          .prefer = prefer};
}

TEST(Routes, of_peers_that_share_one_the_fittest_has_it) {
  const auto holder = [](const std::vector<PeerRoutes>& peers) {
    return routes_of(peers).find(v4(10, 1, 2, 3), false);
  };
  using enum Standing;
  EXPECT_EQ(holder({sharer(1, Up, 100), sharer(2, Up, 200)}), 2);
  EXPECT_EQ(holder({sharer(1, Up, 100), sharer(2, Draining, 200)}), 1);
  EXPECT_EQ(holder({sharer(1, Down, 100), sharer(2, Draining, 50)}), 2);
  EXPECT_EQ(holder({sharer(1, Down, 100), sharer(2, Down, 200)}), 2) << "as if all were up";
  EXPECT_EQ(holder({sharer(1, Up, 10), sharer(2, Down, 30), sharer(3, Up, 20)}), 3);
  // A longer prefix decides before any of that.
  std::vector<PeerRoutes> peers = {sharer(1, Up, 200), sharer(2, Down, 100)};
  peers[1].routes = {prefix(v4(10, 1, 0, 0), 16)};
  EXPECT_EQ(holder(peers), 2);
}

TEST(Routes, peers_that_share_one_are_not_preferred_alike) {
  using enum Standing;
  EXPECT_EQ(route_sentence({sharer(1, Up, 50), sharer(2, Down, 70), sharer(3, Draining, 50)}),
            "the route 10.0.0.0/8 is given to peer \"p1\" and to peer \"p3\", which are preferred "
            "alike");
}

TEST(Routes, the_longest_prefix_decides) {
  const Routes routes =
      routes_of({{3, "all", {prefix(v4(0, 0, 0, 0), 0)}},
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
  EXPECT_EQ(routes_of({}).find(v4(10, 0, 0, 1), false), std::nullopt);
  EXPECT_EQ(routes_of({}).find(v6({0xfd00}), true), std::nullopt);
}

TEST(Routes, that_touch_or_end_together_are_told_apart) {
  const Routes routes =
      routes_of({{1, "a", {prefix(v4(10, 0, 0, 0), 9), prefix(v4(10, 255, 0, 0), 16)}},
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
  EXPECT_EQ(route_sentence({{0, "tokyo", {same}}, {1, "osaka", {same}}}),
            "the route 10.1.0.0/16 is given to peer \"tokyo\" and to peer \"osaka\", which are "
            "preferred alike");
  EXPECT_EQ(route_sentence({{0, "tokyo", {same, same}}}), "")
      << "twice the same is no contradiction";
  EXPECT_EQ(route_sentence({{0, "tokyo", {same}}, {1, "osaka", {prefix(v4(10, 1, 0, 0), 17)}}}),
            "");
  EXPECT_EQ(route_sentence({{0, "a", {prefix(v6({0xfd00, 1}), 32, true)}},
                            {1, "b", {prefix(v6({0xfd00, 1}), 32, true)}}}),
            "the route fd00:1:0:0:0:0:0:0/32 is given to peer \"a\" and to peer \"b\", which "
            "are preferred alike");
}

TEST(Routes, wrong_prefixes_are_named) {
  EXPECT_EQ(route_sentence({{0, "a", {prefix(v4(10, 1, 2, 3), 16)}}}),
            "peer \"a\": the prefix 10.1.2.3/16 has address bits behind its length: is 10.1.0.0/16 "
            "meant?");
  EXPECT_EQ(route_sentence({{0, "a", {prefix(v6({0xfd00, 1}, 9), 64, true)}}}),
            "peer \"a\": the prefix fd00:1:0:0:0:0:0:9/64 has address bits behind its length: is "
            "fd00:1:0:0:0:0:0:0/64 meant?");
  EXPECT_EQ(route_sentence({{0, "a", {prefix(v4(10, 0, 0, 0), 33)}}}),
            "peer \"a\": the prefix 10.0.0.0/33 is longer than an address: 0 to 32 bits");
}

TEST(Routes, serve_as_many_peers_as_a_port_may_have) {
  std::vector<PeerRoutes> peers;
  for (uint16_t i = 0; i < limits::peers_max; ++i) {
    const auto high = static_cast<uint8_t>(i / 8), low = static_cast<uint8_t>(i % 8 * 32);
    peers.push_back({i, "p" + std::to_string(i), {prefix(v4(10, high, low, 0), 19)}});
  }
  const Routes routes = routes_of(peers);
  EXPECT_EQ(routes.find(v4(10, 127, 255, 1), false), 1023);
  EXPECT_EQ(routes.find(v4(10, 127, 223, 1), false), 1022);
  peers.push_back({0, "one more", {}});
  EXPECT_EQ(route_sentence(peers), "there are 1025 peers: at most 1024");
  EXPECT_EQ(route_sentence({{1024, "far", {}}}), "peer \"far\" has the number 1024: 0 to 1023");
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

Prefix any_route(Prng& prng) {
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
    const Prefix any = any_route(prng);
    const bool is_new = std::ranges::none_of(seen, [&any](const Prefix& other) {
      return other.is_v6 == any.is_v6 && other.bits == any.bits && other.address == any.address;
    });
    if (!is_new) continue;
    seen.push_back(any);
    peers[prng.below(peers.size())].routes.push_back(any);
  }
  const Routes routes = routes_of(peers);
  for (int i = 0; i < 200; ++i) {
    const bool is_v6 = prng.chance(0.5);
    const Address address = any_address(prng, is_v6);
    RC_ASSERT(routes.find(address, is_v6) == linear_find(peers, address, is_v6));
  }
}

}  // namespace

}  // namespace cw::gateway::test
