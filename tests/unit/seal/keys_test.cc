// Keys of sites, and how they are written.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "dataplane/seal/keys.h"
#include "tests/property/property.h"
#include "tests/unit/seal/hex.h"

namespace cw::seal {
namespace {

TEST(SealKeys, agree_as_rfc_7748_has_it) {  // 6.1
  const Identity alice =
      Identity::of(secret_of("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"));
  const Identity bob =
      Identity::of(secret_of("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"));
  EXPECT_EQ(hex_of(alice.public_key),
            "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a");
  EXPECT_EQ(hex_of(bob.public_key),
            "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f");
  for (const auto& shared : {shared_secret(alice.private_key, bob.public_key),
                             shared_secret(bob.private_key, alice.public_key)}) {
    ASSERT_TRUE(shared);
    EXPECT_EQ(hex_of(shared->bytes()),
              "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
  }
}

/// Points of small order, with which all private keys come to zero.
TEST(SealKeys, agree_on_nothing_with_a_key_that_is_none) {
  const Identity own = Identity::random();
  for (const char* const none :
       {"0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"}) {
    EXPECT_FALSE(shared_secret(own.private_key, public_key_of(none))) << none;
  }
}

TEST(SealKeys, are_others_each_time) {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) seen.insert(text_of(Secret::random().bytes()));
  EXPECT_EQ(seen.size(), 100u);
}

RC_GTEST_PROP(SealKeys, are_written_in_one_way, (uint64_t at, uint32_t other)) {
  const Secret secret = Secret::random();
  const std::string text = text_of(secret.bytes());
  RC_ASSERT(text.size() == 44u);
  const auto read = parse_secret(text);
  RC_ASSERT(read.has_value());
  RC_ASSERT(hex_of(read->bytes()) == hex_of(secret.bytes()));
  // Any other text is another key, or none.
  std::string changed = text;
  changed[at % text.size()] = static_cast<char>(other);
  const auto reread = parse_secret(changed);
  const bool is_same = reread && *reread == secret;
  RC_ASSERT(is_same == (changed == text));
}

TEST(SealKeys, are_not_read_out_of_what_is_none) {
  const std::string text = text_of(Secret::random().bytes());
  for (const std::string& none : {std::string(), text.substr(1), text + "=", text.substr(0, 43),
                                  text.substr(0, 42) + "==", std::string(44, '='),
                                  std::string(43, '\0') + "=", " " + text.substr(1)}) {
    EXPECT_FALSE(parse_secret(none)) << none;
    EXPECT_FALSE(parse_public_key(none)) << none;
  }
}

}  // namespace
}  // namespace cw::seal
