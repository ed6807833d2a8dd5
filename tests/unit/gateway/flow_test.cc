#include "dataplane/gateway/flow.h"

#include <gtest/gtest.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <set>

#include "tests/property/property.h"
#include "tests/unit/gateway/packets.h"

namespace cw::gateway::test {
namespace {

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

}  // namespace
}  // namespace cw::gateway::test
