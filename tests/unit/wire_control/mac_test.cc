// HMAC-SHA-256 against RFC 4231 section 4.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "offload/mac.h"
#include "tests/golden_packets.h"

namespace cw::test {
namespace {

std::string filled(size_t count, int byte) { return std::string(count, static_cast<char>(byte)); }

/// The MAC as hex.
std::string mac_of(const std::string& key, const std::string& bytes) {
  cw_mac mac;
  cw_mac_init(&mac, key.data(), key.size());
  uint8_t out[CW_MAC_BYTES];
  cw_mac_compute(&mac, bytes.data(), bytes.size(), out);
  std::string hex;
  for (const uint8_t byte : out)
    hex += {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
  return hex;
}

TEST(Mac, agrees_with_rfc_4231_for_short_keys) {
  EXPECT_EQ(mac_of(filled(20, 0x0b), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(mac_of("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(mac_of(filled(20, 0xaa), filled(50, 0xdd)),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  std::string counting;
  for (int byte = 1; byte <= 25; ++byte) counting += static_cast<char>(byte);
  EXPECT_EQ(mac_of(counting, filled(50, 0xcd)),
            "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
}

TEST(Mac, agrees_with_rfc_4231_for_keys_longer_than_a_block) {
  EXPECT_EQ(mac_of(filled(131, 0xaa), "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  EXPECT_EQ(mac_of(filled(131, 0xaa),
                   "This is a test using a larger than block-size key and a larger than "
                   "block-size data. The key needs to be hashed before being used by the HMAC "
                   "algorithm."),
            "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

TEST(Mac, a_prepared_key_is_not_used_up) {
  cw_mac mac;
  cw_mac_init(&mac, "Jefe", 4);
  uint8_t first[CW_MAC_BYTES], second[CW_MAC_BYTES];
  cw_mac_compute(&mac, "a", 1, first);
  cw_mac_compute(&mac, "a", 1, second);
  EXPECT_EQ(std::vector(first, first + CW_MAC_BYTES), std::vector(second, second + CW_MAC_BYTES));
}

TEST(Mac, an_empty_key_and_no_bytes_are_allowed) {
  EXPECT_EQ(mac_of("", ""), "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

}  // namespace
}  // namespace cw::test
