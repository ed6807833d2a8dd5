// Frames that come in, and the flows that they belong to.
#include <gtest/gtest.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <algorithm>
#include <expected>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/base/limits.h"
#include "dataplane/base/prng.h"
#include "dataplane/gateway/ingress/flow.h"
#include "dataplane/gateway/ingress/ingress.h"
#include "tests/property/property.h"
#include "tests/unit/gateway/packets.h"

namespace cw::gateway::test {
namespace {

// ---- flow ----

constexpr uint64_t key[2] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};

// The vectors of the reference, for the inputs 00 01 02 ... of 0, 8 and 16 bytes.
TEST(SipHash, of_two_and_four_rounds_has_the_published_values) {
  const uint64_t words[] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
  const SipHash<2, 4> hash(key[0], key[1]);
  EXPECT_EQ(hash(std::span(words, 0)), 0x726fdb47dd0e0e31u);
  EXPECT_EQ(hash(std::span(words, 1)), 0x93f5f5799a932462u);
  EXPECT_EQ(hash(std::span(words, 2)), 0x3f2acc7f57c29bdbu);
}

uint64_t openssl_siphash(std::span<const uint64_t> words, uint64_t low, uint64_t high,
                         unsigned compress, unsigned final) {
  EVP_MAC* mac = EVP_MAC_fetch(nullptr, "SIPHASH", nullptr);
  EVP_MAC_CTX* context = EVP_MAC_CTX_new(mac);
  size_t size = 8;
  const OSSL_PARAM params[] = {OSSL_PARAM_construct_uint(OSSL_MAC_PARAM_C_ROUNDS, &compress),
                               OSSL_PARAM_construct_uint(OSSL_MAC_PARAM_D_ROUNDS, &final),
                               OSSL_PARAM_construct_size_t(OSSL_MAC_PARAM_SIZE, &size),
                               OSSL_PARAM_construct_end()};
  const uint64_t secret[2] = {low, high};
  uint64_t result = 0;
  EXPECT_TRUE(EVP_MAC_init(context, reinterpret_cast<const uint8_t*>(secret), 16, params));
  EXPECT_TRUE(
      EVP_MAC_update(context, reinterpret_cast<const uint8_t*>(words.data()), words.size_bytes()));
  EXPECT_TRUE(EVP_MAC_final(context, reinterpret_cast<uint8_t*>(&result), &size, 8));
  EVP_MAC_CTX_free(context);
  EVP_MAC_free(mac);
  return result;
}

RC_GTEST_PROP(SipHash, agrees_with_openssl,
              (std::vector<uint64_t> words, uint64_t low, uint64_t high)) {
  RC_ASSERT((SipHash<1, 3>(low, high)(words)) == openssl_siphash(words, low, high, 1, 3));
  RC_ASSERT((SipHash<2, 4>(low, high)(words)) == openssl_siphash(words, low, high, 2, 4));
}

uint16_t bucket_of(const Shape& shape, const uint64_t (&with)[2] = key) {
  const auto packet = parse_ip_packet(make_packet(shape));
  EXPECT_TRUE(packet.has_value());
  return FlowHash(with).bucket_of(*packet);
}

TEST(Flow, is_named_by_addresses_protocol_and_ports) {
  for (const bool is_v6 : {false, true}) {
    const Shape base{.is_v6 = is_v6, .protocol = tcp, .payload = ports(1, 2)};
    std::set<uint16_t> buckets{bucket_of(base)};
    std::vector<Shape> others(5, base);
    others[0].source[3] ^= 1;
    others[1].target[3] ^= 1;
    others[2].protocol = udp;
    others[3].payload = ports(2, 1);
    std::swap(others[4].source, others[4].target);
    for (const Shape& other : others) buckets.insert(bucket_of(other));
    EXPECT_EQ(buckets.size(), 6u);
    Shape same = base;
    same.dscp = 4;
    same.ecn = 1;
    same.ttl = 9;
    same.payload[10] ^= 1;
    same.option_words = 2;
    same.extensions = {60};
    EXPECT_EQ(bucket_of(same), bucket_of(base));
  }
}

TEST(Flow, all_pieces_of_a_packet_share_a_bucket) {
  for (const bool is_v6 : {false, true}) {
    Shape shape{.is_v6 = is_v6, .payload = ports(7, 9), .more_fragments = true};
    if (is_v6) shape.extensions = {44};
    const uint16_t first = bucket_of(shape);
    shape.fragment_offset = 100;
    shape.payload = ByteVector(64, 0x33);
    EXPECT_EQ(bucket_of(shape), first);
  }
}

TEST(Flow, of_roce_is_a_queue_pairs_half_whatever_the_udp_port) {
  const auto of = [](uint8_t opcode, uint32_t qp, uint16_t port = 0xc000) {
    return bucket_of({.payload = roce(opcode, qp, port)});
  };
  const uint16_t requests = of(0x04, 77), answers = of(0x10, 77);
  EXPECT_EQ(of(0x07, 77, 0xc001), requests) << "WRITE middle";
  EXPECT_EQ(of(0x0c, 77, 0xc002), requests) << "READ request";
  EXPECT_EQ(of(0x11, 77, 0xc003), answers) << "acknowledge";
  EXPECT_EQ(of(0x12, 77, 0xc004), answers) << "ATOMIC acknowledge";
  EXPECT_NE(requests, answers);
  EXPECT_NE(of(0x04, 78), requests);
}

TEST(Flow, the_key_decides_the_bucket) {
  const uint64_t other[2] = {key[0] ^ 1, key[1]};
  EXPECT_NE(bucket_of({}), bucket_of({}, other));
}

TEST(Flow, buckets_are_used_evenly) {
  std::vector<uint32_t> counts(256);
  IpPacket packet;
  packet.has_ports = true;
  constexpr int packets = 65'536;
  for (int i = 0; i < packets; ++i) {
    packet.source_port = static_cast<uint16_t>(i);
    ++counts[FlowHash(key).bucket_of(packet) >> 8];
  }
  double chi_square = 0;
  for (const uint32_t count : counts) chi_square += (count - 256.0) * (count - 256.0) / 256.0;
  EXPECT_LT(chi_square, 360) << "255 degrees of freedom: one key in 40,000 exceeds it";
}

TEST(BucketSequences, only_frames_in_turn_take_a_number) {
  BucketSequences sequences;
  FrameHeader header = sequences.header_for(100, 9, FrameOrder::InTurn);
  EXPECT_EQ(header, (FrameHeader{100, 9, 0, FrameOrder::InTurn}));
  EXPECT_EQ(sequences.header_for(100, 9, FrameOrder::InTurn).bucket_seq, 0u) << "not taken yet";
  sequences.take(header);
  header = sequences.header_for(60, 9, FrameOrder::Behind);
  EXPECT_EQ(header, (FrameHeader{60, 9, 1, FrameOrder::Behind}));
  sequences.take(header);
  EXPECT_EQ(sequences.header_for(60, 9, FrameOrder::InTurn).bucket_seq, 1u);
  header = sequences.header_for(60, 9, FrameOrder::AtOnce);
  EXPECT_EQ(header.bucket_seq, 0u);
  sequences.take(header);
  EXPECT_EQ(sequences.header_for(60, 9, FrameOrder::InTurn).bucket_seq, 1u);
  EXPECT_EQ(sequences.header_for(60, 8, FrameOrder::InTurn).bucket_seq, 0u);
  sequences.restart();
  EXPECT_EQ(sequences.header_for(60, 9, FrameOrder::InTurn).bucket_seq, 0u);
}

// ---- ingress ----

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
                   {5, "c", {prefix(v4(10, 3, 0, 0), 16)}}};
  return options;
}
Ingress made(const GatewayOptions& options = options_of_two_peers()) {
  auto ingress = Ingress::make(options);
  EXPECT_TRUE(ingress.has_value()) << (ingress ? "" : ingress.error().sentence);
  return *ingress;
}
std::expected<Admitted, DropReason> admit(auto&& ingress, ByteVector& packet) {
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
  Ingress ingress = made(options);
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

// ---- what was worked out before ----

/// Rules that look at everything, of which the last does not take everything.
GatewayOptions options_that_look_at_everything(bool decrement_ttl) {
  GatewayOptions options;
  const auto add = [&options](std::vector<ClassMatch> matches) {
    const auto qp = static_cast<uint16_t>(options.classes.size());
    options.classes.push_back(
        {.name = std::to_string(qp), .matches = std::move(matches), .qp = qp});
  };
  add({{.dscp = 8}, {.kind = PacketKind::Udp, .dscp = 9}});
  add({{.source_ports = PortRange{1, 2}, .target_ports = PortRange{2, 4}}});
  add({{.source = prefix(v4(1, 1, 0, 0), 16)}, {.target = prefix(v6({0x0101}), 16, true)}});
  add({{.kind = PacketKind::RoceRc}, {.kind = PacketKind::RoceUd}, {.kind = PacketKind::Tcp}});
  add({{.kind = PacketKind::Udp}, {.source = prefix(v4(2, 0, 0, 0), 8)}});
  options.peers = {{0, "a", {prefix(v4(0, 0, 0, 0), 1), prefix(v6({}), 1, true)}},
                   {1, "b", {prefix(v4(1, 0, 0, 0), 8), prefix(v6({0x0100}), 8, true)}}};
  options.lan_mtu = 576;
  options.decrement_ttl = decrement_ttl;
  return options;
}

ByteVector any_packet(Prng& prng) {
  Shape shape = any_shape(prng, 580);
  if (prng.chance(0.9)) {
    shape.source[0] = 2;  // a host's
    shape.target[0] |= 1;
    shape.option_words = 0;
    shape.extensions.clear();
    shape.fragment_offset = 0;
    shape.more_fragments = false;
  }
  if (prng.chance(0.5)) shape.dscp = static_cast<uint8_t>(8 + prng.below(2));
  return make_packet(shape);
}

/// Changes a bit or a byte of the headers, or where the packet ends.
void change(ByteVector& packet, Prng& prng) {
  const size_t headers = packet[0] >> 4 == 4 ? 36 : 56;
  const size_t at = prng.below(std::min<size_t>(packet.size(), headers));
  if (prng.chance(0.2)) packet[packet[0] >> 4 == 4 ? 8 : 7] = static_cast<uint8_t>(prng.below(3));
  if (prng.chance(0.5)) packet[at] ^= static_cast<uint8_t>(1 << prng.below(8));
  if (prng.chance(0.2)) packet[at] = static_cast<uint8_t>(prng.next());
  if (prng.chance(0.1)) packet.resize(1 + prng.below(packet.size() + 40));
  const size_t header = packet[0] % 16u * 4u;
  if (packet[0] >> 4 != 4 || header < 20 || packet.size() < header || prng.chance(0.2)) return;
  packet[10] = packet[11] = 0;
  const auto checksum = static_cast<uint16_t>(~plain_sum(std::span(packet).first(header)));
  packet[10] = static_cast<uint8_t>(checksum >> 8);
  packet[11] = static_cast<uint8_t>(checksum);
}

bool is_same(const Admitted& a, const Admitted& b) {
  return a.peer == b.peer && a.class_index == b.class_index && a.bucket == b.bucket &&
         a.order == b.order && a.bytes == b.bytes && a.ecn == b.ecn && a.dscp == b.dscp;
}

RC_GTEST_PROP(Ingress, says_of_a_packet_what_it_would_have_said_if_none_had_come_before,
              (uint64_t seed)) {
  Prng prng(seed);
  const Ingress fresh = made(options_that_look_at_everything(prng.chance(0.5)));
  Ingress seasoned = fresh;
  std::vector<ByteVector> packets;
  for (int i = 0; i < 3; ++i) packets.push_back(any_packet(prng));
  for (int i = 0; i < 150; ++i) {
    ByteVector packet = packets[prng.below(packets.size())];
    if (prng.chance(0.7)) change(packet, prng);
    ByteVector twin = packet;
    const auto admitted = admit(seasoned, packet);
    const auto expected = admit(Ingress(fresh), twin);
    RC_ASSERT(admitted.has_value() == expected.has_value());
    RC_ASSERT(packet == twin);
    if (admitted) {
      RC_ASSERT(is_same(*admitted, *expected));
    } else {
      RC_ASSERT(admitted.error() == expected.error());
    }
  }
}

TEST(Ingress, knows_a_jumbo_frame_from_one_with_too_much_padding) {
  GatewayOptions options = options_of_two_peers();
  options.lan_mtu = limits::frame_bytes_max;
  Ingress ingress = made(options);
  ByteVector packet = make_packet({.payload = ByteVector(limits::frame_bytes_max - 20)});
  EXPECT_TRUE(admit(ingress, packet).has_value());
  EXPECT_TRUE(admit(ingress, packet).has_value());
  packet.push_back(0);
  EXPECT_EQ(admit(ingress, packet).error(), DropReason::lan_malformed);
}

}  // namespace

}  // namespace cw::gateway::test
