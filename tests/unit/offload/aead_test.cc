// Sealing by each library that is built in: as the standards have it, and alike.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "offload/aead/aead.h"
#include "tests/property/property.h"

namespace cw {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes from_hex(std::string_view hex) {
  Bytes bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<uint8_t>(std::stoul(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

struct Key {
  const cw_aead* aead;
  std::unique_ptr<void, void (*)(void*)> state;

  Key(const cw_aead* of, cw_aead_kind kind, const Bytes& key)
      : aead(of), state(of->make(kind, key.data()), of->drop) {}
};

struct Sealed {
  Bytes text, tag = Bytes(CW_AEAD_TAG_BYTES);
};

Sealed seal(const Key& key, const Bytes& nonce, const Bytes& associated, const Bytes& plain) {
  Sealed sealed{Bytes(plain.size())};
  const cw_aead_text text = {nonce.data(), associated.data(),  associated.size(),
                             plain.data(), sealed.text.data(), plain.size()};
  key.aead->seal(key.state.get(), &text, sealed.tag.data());
  return sealed;
}

/// In place, as a packet is. Nothing where it is refused, and zeros are left then.
bool try_open(const Key& key, const Bytes& nonce, const Bytes& associated, Sealed& sealed) {
  const cw_aead_text text = {nonce.data(),       associated.data(),  associated.size(),
                             sealed.text.data(), sealed.text.data(), sealed.text.size()};
  const bool is_open = key.aead->open(key.state.get(), &text, sealed.tag.data()) != 0;
  if (!is_open) {
    EXPECT_EQ(std::ranges::count(sealed.text, 0), std::ssize(sealed.text));
  }
  return is_open;
}

std::vector<const cw_aead*> libraries() {
  std::vector<const cw_aead*> all = {cw_aead_openssl()};
  if (cw_aead_ipsec_mb() != nullptr) all.push_back(cw_aead_ipsec_mb());
  return all;
}
constexpr cw_aead_kind kinds[] = {CW_AEAD_AES_128_GCM, CW_AEAD_AES_256_GCM,
                                  CW_AEAD_CHACHA20_POLY1305};

struct Vector {
  cw_aead_kind kind;
  const char *key, *nonce, *associated, *plain, *sealed, *tag;
};

constexpr const char* gcm_plain =
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b5"
    "25b16aedf5aa0de657ba637b39";
constexpr const char* gcm_associated = "feedfacedeadbeeffeedfacedeadbeefabaddad2";

/// Test cases 4 and 16 of what GCM was submitted to NIST with; RFC 8439, 2.8.2.
constexpr Vector vectors[] = {
    {CW_AEAD_AES_128_GCM, "feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888",
     gcm_associated, gcm_plain,
     "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84"
     "aa051ba30b396a0aac973d58e091",
     "5bc94fbc3221a5db94fae95ae7121a47"},
    {CW_AEAD_AES_256_GCM, "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
     "cafebabefacedbaddecaf888", gcm_associated, gcm_plain,
     "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b105682"
     "8838c5f61e6393ba7a0abcc9f662",
     "76fc6ece0f4e1768cddf8853bb2d551b"},
    {CW_AEAD_CHACHA20_POLY1305, "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f",
     "070000004041424344454647", "50515253c0c1c2c3c4c5c6c7",
     "4c616469657320616e642047656e746c656d656e206f662074686520636c617373206f66202739393a20496620492"
     "0"
     "636f756c64206f6666657220796f75206f6e6c79206f6e652074697020666f7220746865206675747572652c20737"
     "5"
     "6e73637265656e20776f756c642062652069742e",
     "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d63dbea45e8ca9671282fafb69da927"
     "2"
     "8b1a71de0a9e060b2905d6a5b67ecd3b3692ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b483"
     "1"
     "d7bc3ff4def08e4b7a9de576d26586cec64b6116",
     "1ae10b594f09e26a7e902ecbd0600691"}};

TEST(Aead, seals_as_the_standards_have_it) {
  for (const cw_aead* const library : libraries()) {
    for (const Vector& it : vectors) {
      SCOPED_TRACE(std::string(library->library) + " " + std::to_string(it.kind));
      const Key key(library, it.kind, from_hex(it.key));
      ASSERT_NE(key.state, nullptr);
      const Bytes nonce = from_hex(it.nonce), associated = from_hex(it.associated);
      Sealed sealed = seal(key, nonce, associated, from_hex(it.plain));
      EXPECT_EQ(sealed.text, from_hex(it.sealed));
      EXPECT_EQ(sealed.tag, from_hex(it.tag));
      EXPECT_TRUE(try_open(key, nonce, associated, sealed));
      EXPECT_EQ(sealed.text, from_hex(it.plain));
    }
  }
}

Bytes drawn(uint64_t seed, size_t count) {
  Bytes bytes(count);
  for (uint8_t& byte : bytes) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<uint8_t>(seed >> 56);
  }
  return bytes;
}

RC_GTEST_PROP(Aead, is_alike_in_every_library, (uint64_t seed, uint64_t size)) {
  const Bytes nonce = drawn(seed, CW_AEAD_NONCE_BYTES), plain = drawn(seed + 1, size % 9000);
  const Bytes associated = drawn(seed + 2, size / 9000 % 64);
  for (const cw_aead_kind kind : kinds) {
    const Bytes key = drawn(seed + 3, cw_aead_key_bytes(kind));
    const Sealed right = seal(Key(cw_aead_openssl(), kind, key), nonce, associated, plain);
    for (const cw_aead* const library : libraries()) {
      const Key theirs(library, kind, key);
      // Twice, as nothing of the first may be left in the second.
      for (int round = 0; round < 2; ++round) {
        const Sealed sealed = seal(theirs, nonce, associated, plain);
        RC_ASSERT((sealed.text == right.text));
        RC_ASSERT((sealed.tag == right.tag));
        Sealed back = right;
        RC_ASSERT(try_open(theirs, nonce, associated, back));
        RC_ASSERT((back.text == plain));
      }
    }
  }
}

/// Of the text, the tag, what is associated, the nonce and the key a bit is another.
RC_GTEST_PROP(Aead, opens_nothing_that_is_changed, (uint64_t seed, uint64_t how)) {
  const Bytes plain = drawn(seed, 1 + how % 2000);
  for (const cw_aead* const library : libraries()) {
    for (const cw_aead_kind kind : kinds) {
      Bytes key = drawn(seed + 1, cw_aead_key_bytes(kind));
      Bytes nonce = drawn(seed + 2, CW_AEAD_NONCE_BYTES), associated = drawn(seed + 3, 20);
      Sealed sealed = seal(Key(library, kind, key), nonce, associated, plain);
      Bytes* const parts[] = {&sealed.text, &sealed.tag, &associated, &nonce, &key};
      Bytes& part = *parts[how / 8 % std::size(parts)];
      part[how / 64 % part.size()] ^= static_cast<uint8_t>(1 << how % 8);
      RC_ASSERT(!try_open(Key(library, kind, key), nonce, associated, sealed));
    }
  }
}

}  // namespace
}  // namespace cw
