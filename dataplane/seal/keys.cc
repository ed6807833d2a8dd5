#include "dataplane/seal/keys.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <memory>

#include "dataplane/base/assert.h"

namespace cw::seal {
namespace {

constexpr size_t text_bytes = (key_bytes + 2) / 3 * 4;

struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(EVP_PKEY_CTX* context) const { EVP_PKEY_CTX_free(context); }
};
using Key = std::unique_ptr<EVP_PKEY, FreeKey>;
using Context = std::unique_ptr<EVP_PKEY_CTX, FreeKey>;

Key private_key_of(const Secret& secret) {
  Key key(EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nullptr, secret.bytes().data(), key_bytes));
  CW_ASSERT(key != nullptr);
  return key;
}

/// Whether the text is that of the bytes; there are others that OpenSSL reads as them.
bool is_text_of(std::string_view text, std::span<const uint8_t, key_bytes> bytes) {
  std::string written = text_of(bytes);
  const bool is_it = text == written;
  OPENSSL_cleanse(written.data(), written.size());
  return is_it;
}

}  // namespace

Secret::Secret(std::span<const uint8_t, key_bytes> bytes) {
  std::ranges::copy(bytes, bytes_.begin());
}

Secret::~Secret() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }

Secret Secret::random() {
  Secret made;
  CW_ASSERT(RAND_priv_bytes(made.bytes_.data(), key_bytes) == 1);
  return made;
}

bool Secret::operator==(const Secret& other) const {
  return CRYPTO_memcmp(bytes_.data(), other.bytes_.data(), key_bytes) == 0;
}

Identity Identity::of(const Secret& private_key) {
  Identity it{.private_key = private_key, .public_key = {}};
  size_t bytes = key_bytes;
  const Key key = private_key_of(private_key);
  CW_ASSERT(EVP_PKEY_get_raw_public_key(key.get(), it.public_key.data(), &bytes) == 1);
  return it;
}

std::optional<Secret> shared_secret(const Secret& private_key, const PublicKey& public_key) {
  const Key own = private_key_of(private_key);
  const Key other(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nullptr, public_key.data(), key_bytes));
  const Context context(EVP_PKEY_CTX_new(own.get(), nullptr));
  Secret shared;
  size_t bytes = key_bytes;
  const bool is_done = other != nullptr && context != nullptr &&
                       EVP_PKEY_derive_init(context.get()) == 1 &&
                       EVP_PKEY_derive_set_peer(context.get(), other.get()) == 1 &&
                       EVP_PKEY_derive(context.get(), shared.bytes().data(), &bytes) == 1;
  if (!is_done || shared == Secret()) return std::nullopt;
  return shared;
}

std::string text_of(std::span<const uint8_t, key_bytes> key) {
  std::string text(text_bytes + 1, '\0');
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), key.data(), key_bytes);
  text.resize(text_bytes);
  return text;
}

std::optional<Secret> parse_secret(std::string_view text) {
  if (text.size() != text_bytes || text.back() != '=') return std::nullopt;
  std::array<uint8_t, key_bytes + 1> bytes{};  // with what stands for the pad
  const int count = EVP_DecodeBlock(
      bytes.data(), reinterpret_cast<const unsigned char*>(text.data()), text_bytes);
  const std::span<const uint8_t> decoded(bytes);
  Secret made(decoded.first<key_bytes>());
  OPENSSL_cleanse(bytes.data(), bytes.size());
  if (count != static_cast<int>(bytes.size()) || !is_text_of(text, made.bytes())) {
    return std::nullopt;
  }
  return made;
}

std::optional<PublicKey> parse_public_key(std::string_view text) {
  const auto bytes = parse_secret(text);
  if (!bytes) return std::nullopt;
  PublicKey key;
  std::ranges::copy(bytes->bytes(), key.begin());
  return key;
}

}  // namespace cw::seal
