// What a Noise handshake keeps as it goes on: a key that every secret is mixed into, and a hash of
// all that has been said (The Noise Protocol Framework, revision 34, 5.1 and 5.2), with SHA-256 and
// ChaCha20-Poly1305 (RFC 8439) by OpenSSL.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "dataplane/seal/keys.h"

namespace cw::seal {

inline constexpr size_t tag_bytes = 16;

using Hash = std::array<uint8_t, 32>;

/// Thread: one. Allocates; a handshake takes some hundred microseconds, most of them X25519.
class NoiseSymmetric {
 public:
  NoiseSymmetric(std::string_view protocol, std::span<const uint8_t> prologue);

  void mix_hash(std::span<const uint8_t> bytes);
  void mix_key(std::span<const uint8_t> bytes);
  void mix_key_and_hash(const Secret& secret);
  /// The bytes and a tag, behind `out`.
  void encrypt_and_hash(std::span<const uint8_t> plain, std::vector<uint8_t>& out);
  /// Nothing: it is not what was encrypted, and the handshake is over.
  std::optional<std::vector<uint8_t>> decrypt_and_hash(std::span<const uint8_t> sealed);
  /// Of the initiator's direction and of the responder's.
  std::pair<Secret, Secret> split() const;
  const Hash& hash() const { return hash_; }

 private:
  Hash hash_;
  Secret chaining_, key_;
  uint64_t number_ = 0;  // of messages under the key
};

}  // namespace cw::seal
