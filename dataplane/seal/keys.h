// Keys of sites: who holds the private half of a public key is that site (X25519, RFC 7748).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cw::seal {

inline constexpr size_t key_bytes = 32;

using PublicKey = std::array<uint8_t, key_bytes>;

/// Bytes that nobody else may see; gone from memory when it goes. Zero until set. Thread: any.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::span<const uint8_t, key_bytes> bytes);
  Secret(const Secret&) = default;
  Secret& operator=(const Secret&) = default;
  ~Secret();

  /// Of the kernel's random numbers. Aborts where there are none, as nothing could be sealed then.
  static Secret random();

  std::span<const uint8_t, key_bytes> bytes() const { return bytes_; }
  std::span<uint8_t, key_bytes> bytes() { return bytes_; }
  /// In a time that does not depend on where they differ.
  bool operator==(const Secret& other) const;

 private:
  std::array<uint8_t, key_bytes> bytes_{};
};

/// A site's pair. Copies are as secret as it is.
struct Identity {
  Secret private_key;
  PublicKey public_key{};

  static Identity of(const Secret& private_key);
  static Identity random() { return of(Secret::random()); }
};

/// What both halves of an exchange come to; nothing, where a public key is of small order and the
/// outcome would not depend on the private one (RFC 7748, 6.1). Cost: some 40 us.
std::optional<Secret> shared_secret(const Secret& private_key, const PublicKey& public_key);

/// Base64 (RFC 4648), 44 characters, as WireGuard writes keys.
std::string text_of(std::span<const uint8_t, key_bytes> key);
/// Nothing: it is not that of 32 bytes, or not the one way to write them.
std::optional<Secret> parse_secret(std::string_view text);
std::optional<PublicKey> parse_public_key(std::string_view text);

}  // namespace cw::seal
