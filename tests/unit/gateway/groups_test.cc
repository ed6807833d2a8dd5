// Groups: to which sites, from whom, with how many hops left.
#include <gtest/gtest.h>

#include <expected>
#include <vector>

#include "dataplane/base/limits.h"
#include "dataplane/gateway/gateway.h"
#include "dataplane/gateway/ingress/ingress.h"
#include "tests/unit/gateway/packets.h"

namespace cw::gateway::test {
namespace {

const Address group_v4 = v4(239, 1, 2, 3), host = v4(10, 1, 0, 7);

GroupOptions group(const Address& address, std::vector<std::string> peers = {},
                   bool is_v6 = false) {
  return {.address = address, .is_v6 = is_v6, .peers = std::move(peers), .class_index = {}};
}

/// This side is 10.1.0.0/16; "b" and "c" are sites, "d" is c's twin.
GatewayOptions options_with(std::vector<GroupOptions> groups) {
  GatewayOptions options;
  options.classes = {{.name = "rare", .matches = {{.dscp = 9}}, .qp = 0}, {.name = "all", .qp = 1}};
  options.peers = {{4, "b", {prefix(v4(10, 2, 0, 0), 16), prefix(v6({0xfd00, 2}), 32, true)}},
                   {5, "c", {prefix(v4(10, 3, 0, 0), 16)}},
                   {7, "d", {prefix(v4(10, 3, 0, 0), 16)}}};
  options.peers[1].links = 2;
  options.peers[2].prefer = 50;
  options.groups = std::move(groups);
  options.own_prefixes = {prefix(v4(10, 1, 0, 0), 16), prefix(v6({0xfd00, 1}), 32, true)};
  return options;
}

Ingress made(const GatewayOptions& options) { return Ingress::make(options).value(); }

std::expected<Admitted, DropReason> admit(Ingress& ingress, ByteVector& packet) {
  Admitted admitted;
  DropReason why{};
  if (!ingress.try_admit(packet, admitted, why)) return std::unexpected(why);
  return admitted;
}

DropReason reason_for(const Shape& shape, const GatewayOptions& options) {
  Ingress ingress = made(options);
  ByteVector packet = make_packet(shape);
  const ByteVector before = packet;
  const auto admitted = admit(ingress, packet);
  EXPECT_FALSE(admitted.has_value());
  EXPECT_EQ(packet, before) << "what is refused is not changed";
  return admitted ? DropReason{} : admitted.error();
}

std::vector<uint16_t> sites_of(const GatewayOptions& options) {
  return Groups::make(options).value()[0].sites;
}

TEST(Groups, go_once_to_each_site_that_is_meant) {
  EXPECT_EQ(sites_of(options_with({group(group_v4)})), (std::vector<uint16_t>{4, 5}));
  EXPECT_EQ(sites_of(options_with({group(group_v4, {"c"})})), std::vector<uint16_t>{5});
  EXPECT_EQ(sites_of(options_with({group(group_v4, {"d", "b"})})), (std::vector<uint16_t>{4, 7}));
}

TEST(Groups, go_by_the_twin_that_other_packets_go_by) {
  GatewayOptions options = options_with({group(group_v4)});
  options.peers[1].standing = Standing::Down;
  EXPECT_EQ(sites_of(options), (std::vector<uint16_t>{4, 7}));
}

TEST(Groups, are_not_for_places_where_there_is_nobody) {
  GatewayOptions options = options_with({group(group_v4)});
  options.peers.push_back({9, "", {}});
  EXPECT_EQ(sites_of(options), (std::vector<uint16_t>{4, 5}));
}

TEST(Groups, take_one_decision_and_a_link_of_each_site) {
  Ingress ingress = made(options_with({group(v4(239, 0, 0, 1)), group(group_v4)}));
  for (const int round : {1, 2}) {  // the second time it is known
    ByteVector packet = make_packet(
        {.source = host, .target = group_v4, .protocol = udp, .payload = ports(1, 2, 40)});
    const auto admitted = admit(ingress, packet);
    ASSERT_TRUE(admitted.has_value()) << round;
    EXPECT_TRUE(admitted->is_group);
    EXPECT_EQ(admitted->peer, 1) << "the second, by address";
    EXPECT_EQ(admitted->class_index, 1) << "the first that matches";
    EXPECT_EQ(ingress.to_site(*admitted, 4).peer, 4);
    EXPECT_EQ(ingress.to_site(*admitted, 5).peer, 5 + admitted->bucket % 2);
  }
}

TEST(Groups, go_by_the_class_that_they_name) {
  GatewayOptions options = options_with({group(group_v4)});
  options.groups[0].class_index = 0;
  Ingress ingress = made(options);
  ByteVector packet = make_packet({.source = host, .target = group_v4});
  EXPECT_EQ(admit(ingress, packet)->class_index, 0);
}

TEST(Groups, leave_with_a_hop_less_and_no_more_than_they_may) {
  struct Row {
    uint8_t before, after;
  };
  const Address host_v6 = v6({0xfd00, 1}, 7), group_v6 = v6({0xff05}, 1);
  for (const bool is_v6 : {false, true}) {
    Ingress ingress = made(options_with({group(is_v6 ? group_v6 : group_v4, {}, is_v6)}));
    for (const Row row : {Row{64, 4}, {64, 4}, {5, 4}, {4, 3}, {2, 1}}) {
      Shape shape{.is_v6 = is_v6,
                  .source = is_v6 ? host_v6 : host,
                  .target = is_v6 ? group_v6 : group_v4,
                  .protocol = udp,
                  .ttl = row.before,
                  .payload = ports(1, 2, 40)};
      ByteVector packet = make_packet(shape);
      ASSERT_TRUE(admit(ingress, packet).has_value());
      shape.ttl = row.after;
      EXPECT_EQ(packet, make_packet(shape)) << "checksum and all";
    }
  }
  const GatewayOptions options = options_with({group(group_v4)});
  EXPECT_EQ(reason_for({.source = host, .target = group_v4, .ttl = 1}, options),
            DropReason::ttl_expired);
}

TEST(Groups, that_nobody_has_configured_stay_where_they_are) {
  GatewayOptions options = options_with({group(group_v4)});
  options.peers[0].routes.push_back(prefix(v4(0, 0, 0, 0), 0));
  EXPECT_EQ(reason_for({.source = host, .target = v4(239, 1, 2, 4)}, options),
            DropReason::multicast_unknown)
      << "no route is one of a group";
}

TEST(Groups, are_sent_to_by_hosts_of_this_side_alone) {
  const GatewayOptions options = options_with({group(group_v4)});
  EXPECT_EQ(reason_for({.source = v4(10, 2, 0, 7), .target = group_v4}, options),
            DropReason::multicast_looped);
  EXPECT_EQ(reason_for({.source = v4(10, 9, 0, 7), .target = group_v4}, options),
            DropReason::multicast_source);
}

TEST(Groups, whose_side_a_source_is_on_is_for_the_longest_prefix_to_say) {
  GatewayOptions options = options_with({group(group_v4)});
  options.own_prefixes = {prefix(v4(10, 0, 0, 0), 8)};
  const Groups inside = Groups::make(options).value();
  EXPECT_EQ(inside.side_of(v4(10, 2, 0, 7), false), Groups::Side::Remote);
  EXPECT_EQ(inside.side_of(v4(10, 9, 0, 7), false), Groups::Side::Own);
  EXPECT_EQ(inside.side_of(v4(192, 0, 2, 1), false), Groups::Side::Unknown);
  options.own_prefixes = {prefix(v4(10, 2, 4, 0), 24)};
  const Groups around = Groups::make(options).value();
  EXPECT_EQ(around.side_of(v4(10, 2, 4, 7), false), Groups::Side::Own);
  EXPECT_EQ(around.side_of(v4(10, 2, 5, 7), false), Groups::Side::Remote);
}

TEST(Groups, whose_sites_are_all_gone_are_counted_as_without_a_route) {
  GatewayOptions options = options_with({group(group_v4)});
  for (PeerRoutes& each : options.peers) each.name.clear();
  EXPECT_EQ(reason_for({.source = host, .target = group_v4}, options), DropReason::no_route);
}

TEST(Groups, go_on_counting_where_others_left_off) {
  Groups before = Groups::make(options_with({group(group_v4), group(v4(239, 0, 0, 1))})).value();
  before.note_sent(before.find(group_v4, false), 100);
  before.note_sent(before.find(group_v4, false), 40);
  Groups after = Groups::make(options_with({group(group_v4), group(v4(239, 9, 0, 1))})).value();
  after.take_counts(before);
  EXPECT_EQ(after[after.find(group_v4, false)].frames, 2u);
  EXPECT_EQ(after[after.find(group_v4, false)].bytes, 140u);
  EXPECT_EQ(after[after.find(v4(239, 9, 0, 1), false)].frames, 0u);
}

std::string mistake(const GatewayOptions& options) {
  const auto groups = Groups::make(options);
  return groups ? "" : groups.error().sentence;
}

TEST(Groups, refuse_what_cannot_be) {
  EXPECT_EQ(mistake(options_with({group(v4(10, 1, 1, 1))})),
            "group 10.1.1.1: no multicast address");
  EXPECT_EQ(mistake(options_with({group(v4(224, 0, 0, 5))})),
            "group 224.0.0.5: it is of one link alone");
  EXPECT_EQ(mistake(options_with({group(group_v4), group(group_v4)})),
            "group 239.1.2.3 is there twice");
  EXPECT_EQ(mistake(options_with({group(group_v4, {"x"})})),
            "group 239.1.2.3: there is no peer \"x\"");
  GatewayOptions options = options_with({group(group_v4)});
  options.groups[0].ttl = 1;
  EXPECT_EQ(mistake(options), "group 239.1.2.3: ttl is 1: 2 to 255");
  options.groups[0] = group(group_v4);
  options.groups[0].class_index = 2;
  EXPECT_EQ(mistake(options), "group 239.1.2.3: there is no class 2");
  options.groups.clear();
  options.own_prefixes = {prefix(v4(10, 3, 0, 0), 16)};
  EXPECT_EQ(mistake(options), "the prefix 10.3.0.0/16 is this side's and a route of a peer");
  options.groups.assign(limits::groups_max + 1, group(group_v4));
  EXPECT_EQ(mistake(options), "there are 33 groups: at most 32");
}

}  // namespace
}  // namespace cw::gateway::test
