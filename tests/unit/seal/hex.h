// Bytes as tests write them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/seal/keys.h"

namespace cw::seal {

using Bytes = std::vector<uint8_t>;

inline Bytes bytes_of(std::string_view hex) {
  Bytes bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<uint8_t>(std::stoul(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

inline std::string hex_of(std::span<const uint8_t> bytes) {
  constexpr const char* digits = "0123456789abcdef";
  std::string hex;
  for (const uint8_t byte : bytes) (hex += digits[byte >> 4]) += digits[byte & 15];
  return hex;
}

inline Secret secret_of(std::string_view hex) {
  const Bytes bytes = bytes_of(hex);
  const std::span<const uint8_t> all(bytes);
  return Secret(all.first<key_bytes>());
}

inline PublicKey public_key_of(std::string_view hex) {
  PublicKey key;
  std::ranges::copy_n(bytes_of(hex).begin(), key_bytes, key.begin());
  return key;
}

}  // namespace cw::seal
