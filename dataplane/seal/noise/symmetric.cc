#include "dataplane/seal/noise/symmetric.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include <algorithm>
#include <memory>

#include "dataplane/base/assert.h"

namespace cw::seal {
namespace {

struct FreeCipher {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using Cipher = std::unique_ptr<EVP_CIPHER_CTX, FreeCipher>;

enum class Way : int { Open = 0, Seal = 1 };

/// Ready for text, with the associated bytes behind it. The number is little-endian behind four
/// zeros (12.3).
Cipher cipher_of(Way way, const Secret& key, uint64_t number, std::span<const uint8_t> associated) {
  std::array<uint8_t, 12> nonce{};
  for (size_t i = 0; i < 8; ++i) nonce[4 + i] = static_cast<uint8_t>(number >> 8 * i);
  Cipher it(EVP_CIPHER_CTX_new());
  int bytes = 0;
  CW_ASSERT(it != nullptr);
  CW_ASSERT(EVP_CipherInit_ex(it.get(), EVP_chacha20_poly1305(), nullptr, key.bytes().data(),
                              nonce.data(), static_cast<int>(way)) == 1);
  CW_ASSERT(EVP_CipherUpdate(it.get(), nullptr, &bytes, associated.data(),
                             static_cast<int>(associated.size())) == 1);
  return it;
}

void mac(const Secret& key, std::span<const uint8_t> bytes, Secret& out) {
  unsigned count = key_bytes;
  CW_ASSERT(HMAC(EVP_sha256(), key.bytes().data(), key_bytes, bytes.data(), bytes.size(),
                 out.bytes().data(), &count) != nullptr);
}

/// HKDF as Noise has it (4.3): so many outputs as there are.
template <size_t Count>
std::array<Secret, Count> derived(const Secret& chaining, std::span<const uint8_t> material) {
  Secret base;
  mac(chaining, material, base);
  std::array<Secret, Count> out;
  std::array<uint8_t, key_bytes + 1> block{};
  for (size_t i = 0; i < Count; ++i) {
    const size_t before = i == 0 ? 0 : key_bytes;
    if (i > 0) std::ranges::copy(out[i - 1].bytes(), block.begin());
    block[before] = static_cast<uint8_t>(i + 1);
    mac(base, std::span(block).first(before + 1), out[i]);
  }
  OPENSSL_cleanse(block.data(), block.size());
  return out;
}

}  // namespace

NoiseSymmetric::NoiseSymmetric(std::string_view protocol, std::span<const uint8_t> prologue) {
  SHA256(reinterpret_cast<const unsigned char*>(protocol.data()), protocol.size(), hash_.data());
  chaining_ = Secret(hash_);
  mix_hash(prologue);
}

void NoiseSymmetric::mix_hash(std::span<const uint8_t> bytes) {
  std::vector<uint8_t> both(hash_.begin(), hash_.end());
  both.insert(both.end(), bytes.begin(), bytes.end());
  SHA256(both.data(), both.size(), hash_.data());
}

void NoiseSymmetric::mix_key(std::span<const uint8_t> bytes) {
  const auto made = derived<2>(chaining_, bytes);
  chaining_ = made[0];
  key_ = made[1];
  number_ = 0;
}

void NoiseSymmetric::mix_key_and_hash(const Secret& secret) {
  const auto made = derived<3>(chaining_, secret.bytes());
  chaining_ = made[0];
  mix_hash(made[1].bytes());
  key_ = made[2];
  number_ = 0;
}

void NoiseSymmetric::encrypt_and_hash(std::span<const uint8_t> plain, std::vector<uint8_t>& out) {
  const Cipher cipher = cipher_of(Way::Seal, key_, number_++, hash_);
  std::vector<uint8_t> sealed(plain.size() + tag_bytes);
  int bytes = 0;
  CW_ASSERT(EVP_CipherUpdate(cipher.get(), sealed.data(), &bytes, plain.data(),
                             static_cast<int>(plain.size())) == 1);
  CW_ASSERT(EVP_CipherFinal_ex(cipher.get(), sealed.data() + bytes, &bytes) == 1);
  CW_ASSERT(EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_AEAD_GET_TAG, tag_bytes,
                                sealed.data() + plain.size()) == 1);
  mix_hash(sealed);
  out.insert(out.end(), sealed.begin(), sealed.end());
}

std::optional<std::vector<uint8_t>> NoiseSymmetric::decrypt_and_hash(
    std::span<const uint8_t> sealed) {
  if (sealed.size() < tag_bytes) return std::nullopt;
  const auto text = sealed.first(sealed.size() - tag_bytes);
  std::array<uint8_t, tag_bytes> tag;
  std::ranges::copy(sealed.last(tag_bytes), tag.begin());
  const Cipher cipher = cipher_of(Way::Open, key_, number_++, hash_);
  std::vector<uint8_t> plain(text.size());
  std::array<uint8_t, 1> rest;
  int bytes = 0;
  CW_ASSERT(EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_AEAD_SET_TAG, tag_bytes, tag.data()) == 1);
  CW_ASSERT(EVP_CipherUpdate(cipher.get(), plain.data(), &bytes, text.data(),
                             static_cast<int>(text.size())) == 1);
  if (EVP_CipherFinal_ex(cipher.get(), rest.data(), &bytes) != 1) return std::nullopt;
  mix_hash(sealed);
  return plain;
}

std::pair<Secret, Secret> NoiseSymmetric::split() const {
  const auto made = derived<2>(chaining_, {});
  return {made[0], made[1]};
}

}  // namespace cw::seal
