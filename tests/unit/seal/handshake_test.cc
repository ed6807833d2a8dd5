// The handshake of two sites: as others have it, and with one who is not who he should be.
#include <gtest/gtest.h>

#include <string>

#include "dataplane/seal/noise/handshake.h"
#include "tests/property/property.h"
#include "tests/unit/seal/hex.h"

namespace cw::seal {
namespace {

const Bytes prologue = bytes_of("4a6f686e2047616c74");

/// Of the vectors that the implementations of Noise share (cacophony.txt).
struct Vector {
  Identity initiator =
      Identity::of(secret_of("e61ef9919cde45dd5f82166404bd08e38bceb5dfdfded0a34c8df7ed542214d1"));
  Identity initiator_ephemeral =
      Identity::of(secret_of("893e28b9dc6ca8d611ab664754b8ceb7bac5117349a4439a6b0569da977c464a"));
  Identity responder =
      Identity::of(secret_of("4a3acbfdb163dec651dfa3194dece676d437029c62a408b4c5ea9114246e4893"));
  Identity responder_ephemeral =
      Identity::of(secret_of("bbdb4cdbd309f1a1f2e1456967fe288cadd6f712d65dc7b7793d5e63da6b375b"));
  Secret preshared = secret_of("54686973206973206d7920417573747269616e20706572737065637469766521");
};

TEST(Handshake, says_what_the_vectors_of_noise_say) {
  const Vector it;
  EXPECT_EQ(hex_of(it.responder.public_key),
            "31e0303fd6418d2f8c0e78b91f22e8caed0fbe48656dcf4767e4834f701b8f62");
  Initiator initiator(it.initiator, it.responder.public_key, prologue, it.initiator_ephemeral);
  Responder responder(it.responder, prologue, it.responder_ephemeral);
  const auto first = initiator.write_first(bytes_of("4c756477696720766f6e204d69736573"));
  ASSERT_TRUE(first);
  EXPECT_EQ(hex_of(*first),
            "ca35def5ae56cec33dc2036731ab14896bc4c75dbb07a61f879f8e3afa4c79442ec9b09893d0f5107917"
            "84c10cbc959f25b1766e0def6e301d14fbca1c7790ac829b8b3674f5f649a5f0e98479662cbfbf2b2c47"
            "cd4b09fcd266cd29d7cb675f1808849707847840f6d178ec4d3733aa");
  EXPECT_EQ(first->size(), first_message_bytes + 16);
  EXPECT_EQ(responder.read_first(*first), bytes_of("4c756477696720766f6e204d69736573"));
  EXPECT_EQ(responder.other(), it.initiator.public_key);
  const auto second =
      responder.write_second(bytes_of("4d757272617920526f746862617264"), it.preshared);
  ASSERT_TRUE(second);
  EXPECT_EQ(hex_of(second->message),
            "95ebc60d2b1fa672c1f46a8aa265ef51bfe38e7ccb39ec5be34069f1448088439a1b3cebf680b2c74217"
            "fcb5eba4ff58a9468cd90c4aca6194f57479b379a7");
  EXPECT_EQ(second->message.size(), second_message_bytes + 15);
  const auto end = initiator.read_second(second->message, it.preshared);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->payload, bytes_of("4d757272617920526f746862617264"));
  EXPECT_TRUE(end->keys.send == second->keys.receive);
  EXPECT_TRUE(end->keys.receive == second->keys.send);
  EXPECT_FALSE(end->keys.send == end->keys.receive);
  EXPECT_EQ(end->keys.hash, second->keys.hash);
}

struct Ends {
  Identity a = Identity::random(), b = Identity::random();
  Secret preshared = Secret::random();
  Initiator initiator{a, b.public_key, prologue};
  Responder responder{b, prologue};
};

TEST(Handshake, has_other_keys_each_time) {
  const Ends ends;
  Bytes firsts;
  std::optional<SessionKeys> before;
  for (int round = 0; round < 3; ++round) {
    Initiator initiator(ends.a, ends.b.public_key, prologue);
    Responder responder(ends.b, prologue);
    const auto first = initiator.write_first({});
    ASSERT_TRUE(first && responder.read_first(*first));
    const auto second = responder.write_second({}, Secret());
    ASSERT_TRUE(second && initiator.read_second(second->message, Secret()));
    EXPECT_FALSE(before && before->send == second->keys.send);
    EXPECT_FALSE(before && before->receive == second->keys.receive);
    EXPECT_FALSE(before && before->hash == second->keys.hash);
    before = second->keys;
  }
}

TEST(Handshake, is_refused_where_anything_is_not_as_the_other_has_it) {
  const auto first_of = [](const Identity& own, const PublicKey& other, const Bytes& common) {
    return *Initiator(own, other, common).write_first({});
  };
  const Ends ends;
  const Identity stranger = Identity::random();
  // For somebody else, with another prologue.
  EXPECT_FALSE(
      Responder(ends.b, prologue).read_first(first_of(ends.a, stranger.public_key, prologue)));
  EXPECT_FALSE(Responder(ends.b, prologue).read_first(first_of(ends.a, ends.b.public_key, {})));
  // Of somebody else: he is told apart, and has to name himself.
  Responder responder(ends.b, prologue);
  ASSERT_TRUE(responder.read_first(first_of(stranger, ends.b.public_key, prologue)));
  EXPECT_EQ(responder.other(), stranger.public_key);
  // Who claims another's public key without the private one.
  const Identity liar{.private_key = stranger.private_key, .public_key = ends.a.public_key};
  EXPECT_FALSE(Responder(ends.b, prologue).read_first(first_of(liar, ends.b.public_key, prologue)));
}

TEST(Handshake, is_refused_without_the_preshared_secret_and_goes_on_with_it) {
  Ends ends;
  ASSERT_TRUE(ends.responder.read_first(*ends.initiator.write_first({})));
  const auto second = ends.responder.write_second({}, ends.preshared);
  ASSERT_TRUE(second);
  EXPECT_FALSE(ends.initiator.read_second(second->message, Secret()));
  EXPECT_FALSE(ends.initiator.read_second(second->message, Secret::random()));
  EXPECT_TRUE(ends.initiator.read_second(second->message, ends.preshared));
}

TEST(Handshake, takes_no_key_that_is_none) {
  Initiator initiator(Identity::random(), PublicKey{}, prologue);
  EXPECT_FALSE(initiator.write_first({}));
  const Ends ends;
  Bytes message(first_message_bytes);
  EXPECT_FALSE(Responder(ends.b, prologue).read_first(message));
}

/// A bit is another, an end is cut off, or a byte is behind it.
Bytes changed(const Bytes& whole, uint64_t how) {
  Bytes bytes = whole;
  const uint64_t where = how / 3;
  if (how % 3 == 0) bytes[where / 8 % bytes.size()] ^= static_cast<uint8_t>(1 << where % 8);
  if (how % 3 == 1) bytes.resize(where % bytes.size());
  if (how % 3 == 2) bytes.push_back(static_cast<uint8_t>(where));
  return bytes;
}

RC_GTEST_PROP(Handshake, is_refused_where_anything_of_a_message_is_changed,
              (uint64_t how_first, uint64_t how_second)) {
  Ends ends;
  const Bytes payload(how_first % 50, uint8_t{7});
  const Bytes first = *ends.initiator.write_first(payload);
  RC_ASSERT(!Responder(ends.b, prologue).read_first(changed(first, how_first)).has_value());
  RC_ASSERT((ends.responder.read_first(first) == payload));
  const auto second = ends.responder.write_second(payload, ends.preshared);
  RC_ASSERT(second.has_value());
  const Bytes other = changed(second->message, how_second);
  RC_ASSERT(!ends.initiator.read_second(other, ends.preshared).has_value());
  RC_ASSERT(ends.initiator.read_second(second->message, ends.preshared).has_value());
}

}  // namespace
}  // namespace cw::seal
