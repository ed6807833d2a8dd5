#include "dataplane/gateway/ingress.h"

#include <gtest/gtest.h>

#include <expected>

#include "tests/unit/gateway/packets.h"

namespace cw::gateway::test {
namespace {

GatewayOptions options_of_two_peers() {
  GatewayOptions options;
  ClassOptions datagrams, rest;
  datagrams.name = "datagrams";
  datagrams.matches = {{.kind = PacketKind::Udp}};
  rest.name = "tcp";
  rest.qp = 1;
  rest.matches = {{.kind = PacketKind::Tcp}, {.kind = PacketKind::RoceRc}};
  options.classes = {datagrams, rest};
  options.peers = {{4, "b", {prefix(v4(10, 2, 0, 0), 16), prefix(v6({0xfd00, 2}), 32, true)}},
                   {5, "c", {prefix(v4(10, 3, 0, 0), 16), prefix(v4(224, 0, 0, 0), 4)}}};
  return options;
}
Ingress made(const GatewayOptions& options = options_of_two_peers()) {
  auto ingress = Ingress::make(options);
  EXPECT_TRUE(ingress.has_value()) << (ingress ? "" : ingress.error().sentence);
  return *ingress;
}
std::expected<Admitted, DropReason> admit(const Ingress& ingress, ByteVector& packet) {
  Admitted admitted;
  DropReason why{};
  if (!ingress.try_admit(packet, admitted, why)) return std::unexpected(why);
  return admitted;
}
DropReason reason_for(const Shape& shape, const GatewayOptions& options = options_of_two_peers()) {
  ByteVector packet = make_packet(shape);
  const ByteVector before = packet;
  const auto admitted = admit(made(options), packet);
  EXPECT_FALSE(admitted.has_value());
  EXPECT_EQ(packet, before) << "what is refused is not changed";
  return admitted ? DropReason{} : admitted.error();
}

TEST(Ingress, tells_where_a_packet_goes_and_how) {
  ByteVector packet = make_packet(
      {.protocol = tcp, .dscp = 12, .ecn = 1, .payload = ports(1, 2, 100), .padding = 3});
  const ByteVector before = packet;
  const auto admitted = admit(made(), packet);
  ASSERT_TRUE(admitted.has_value());
  EXPECT_EQ(admitted->peer, 4);
  EXPECT_EQ(admitted->class_index, 1);
  EXPECT_EQ(admitted->bytes, 120);
  EXPECT_EQ(admitted->order, FrameOrder::InTurn);
  EXPECT_EQ(admitted->dscp, 12);
  EXPECT_EQ(admitted->ecn, 1);
  EXPECT_EQ(admitted->bucket, FlowHash({0, 0}).bucket_of(*parse_ip_packet(packet)));
  EXPECT_EQ(packet, before) << "the kernel has taken the hop already";
}

TEST(Ingress, takes_one_hop_where_it_is_the_router) {
  GatewayOptions options = options_of_two_peers();
  options.decrement_ttl = true;
  const Ingress ingress = made(options);
  ByteVector packet = make_packet({.target = v4(10, 3, 0, 1), .ttl = 2});
  ASSERT_TRUE(admit(ingress, packet).has_value());
  EXPECT_EQ(packet, make_packet({.target = v4(10, 3, 0, 1), .ttl = 1}));
  EXPECT_EQ(reason_for({.ttl = 1}, options), DropReason::ttl_expired);
  EXPECT_EQ(icmp_error_of(DropReason::ttl_expired), IcmpError::HopLimit);
}

TEST(Ingress, refuses_what_is_no_packet) {
  ByteVector packet(60, 0x11);
  EXPECT_EQ(admit(made(), packet).error(), DropReason::lan_malformed);
  EXPECT_EQ(icmp_error_of(DropReason::lan_malformed), std::nullopt);
}

TEST(Ingress, refuses_what_no_router_may_carry) {
  for (const Address& source :
       {v4(0, 0, 0, 0), v4(169, 254, 1, 1), v4(127, 0, 0, 1), v4(230, 1, 1, 1)}) {
    EXPECT_EQ(reason_for({.source = source}), DropReason::lan_unroutable);
  }
  for (const Address& target : {v4(255, 255, 255, 255), v4(169, 254, 1, 1), v4(224, 0, 0, 251),
                                v4(127, 0, 0, 1), v4(250, 0, 0, 1)}) {
    EXPECT_EQ(reason_for({.target = target}), DropReason::lan_unroutable);
  }
  const Address host = v6({0xfd00, 1}, 1);
  for (const Address& source : {v6({}), v6({}, 1), v6({0xfe80}, 1), v6({0xff0e}, 1)}) {
    EXPECT_EQ(reason_for({.is_v6 = true, .source = source, .target = v6({0xfd00, 2}, 1)}),
              DropReason::lan_unroutable);
  }
  for (const Address& target : {v6({}), v6({0xfebf}, 1), v6({0xff02}, 2), v6({0xff11}, 2)}) {
    EXPECT_EQ(reason_for({.is_v6 = true, .source = host, .target = target}),
              DropReason::lan_unroutable);
  }
  ByteVector to_group = make_packet({.target = v4(239, 1, 1, 1)});
  EXPECT_EQ(admit(made(), to_group)->peer, 5) << "a group of more than a link may have a route";
}

TEST(Ingress, refuses_what_nobody_has_a_route_for) {
  EXPECT_EQ(reason_for({.target = v4(10, 4, 0, 1)}), DropReason::no_route);
  EXPECT_EQ(icmp_error_of(DropReason::no_route), IcmpError::NoRoute);
}

TEST(Ingress, refuses_what_is_larger_than_the_lan) {
  GatewayOptions options = options_of_two_peers();
  options.lan_mtu = 1400;
  ByteVector fits = make_packet({.payload = ByteVector(1380), .padding = 20});
  EXPECT_TRUE(admit(made(options), fits).has_value()) << "padding does not count";
  EXPECT_EQ(reason_for({.payload = ByteVector(1381)}, options), DropReason::lan_too_big);
  EXPECT_EQ(icmp_error_of(DropReason::lan_too_big), IcmpError::TooBig);
}

TEST(Ingress, refuses_what_no_class_takes) {
  EXPECT_EQ(reason_for({.protocol = icmp}), DropReason::no_class);
}

TEST(Ingress, an_mtu_that_is_no_frames_is_named) {
  GatewayOptions options = options_of_two_peers();
  options.lan_mtu = 9217;
  EXPECT_EQ(Ingress::make(options).error().sentence, "lan_mtu is 9217: 576 to 9216");
  options.lan_mtu = 575;
  EXPECT_EQ(Ingress::make(options).error().sentence, "lan_mtu is 575: 576 to 9216");
}

}  // namespace
}  // namespace cw::gateway::test
