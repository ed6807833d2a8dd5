// What is looked at for people: outer headers that are made up, flows, the form of a file.
#include "control/daemon/capture/capture.h"

#include <gtest/gtest.h>

#include <cstring>

#include "control/daemon/capture/flows.h"
#include "tests/property/property.h"

namespace cw::daemon {
namespace {

std::vector<uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

/// The ones' complement sum over a right header is all ones.
uint32_t sum_of(const std::string& header) {
  uint32_t sum = 0;
  for (size_t i = 0; i < header.size(); i += 2) {
    sum += static_cast<uint32_t>(static_cast<uint8_t>(header[i]) << 8 |
                                 static_cast<uint8_t>(header[i + 1]));
  }
  return (sum & 0xFFFF) + (sum >> 16);
}

/// A header of so many bytes, of which the rest are zeros, has a right checksum.
std::string sealed(std::string packet) {
  packet[10] = packet[11] = 0;
  const uint32_t sum = ~sum_of(packet.substr(0, static_cast<size_t>(packet[0] & 0xF) * 4));
  packet[10] = static_cast<char>(sum >> 8), packet[11] = static_cast<char>(sum);
  return packet;
}

bool try_read(const std::string& head, size_t bytes, FlowKey& key) {
  return try_read_flow(bytes_of(head), static_cast<uint32_t>(bytes), key);
}

std::string v4_packet(uint8_t protocol, uint16_t offset = 0) {
  std::string packet(28, '\0');
  packet[0] = 0x45;
  packet[3] = 28;
  packet[6] = static_cast<char>(offset >> 8), packet[7] = static_cast<char>(offset);
  packet[9] = static_cast<char>(protocol);
  packet.replace(12, 8, std::string("\x0a\x01\x00\x02\x0a\x02\x00\x02", 8));
  packet.replace(20, 4, std::string("\x1b\x58\x00\x50", 4));
  return sealed(packet);
}

TEST(OuterHeaders, are_those_of_the_family_of_the_target) {
  const std::string v4 = outer_headers(
      {.from = "192.0.2.1", .to = "192.0.2.2", .from_port = 4792, .to_port = 4791, .bytes = 100});
  ASSERT_EQ(v4.size(), 28u);
  EXPECT_EQ(sum_of(v4.substr(0, 20)), 0xFFFFu);
  EXPECT_EQ(static_cast<uint8_t>(v4[3]), 20 + 8 + 100 + 4);
  const std::string v6 = outer_headers({.from = "fd00:9::1", .to = "fd00:9::2", .bytes = 100});
  ASSERT_EQ(v6.size(), 48u);
  EXPECT_EQ(v6[0], 0x60);
  EXPECT_EQ(v6[6], 17);
}

TEST(OuterHeaders, know_nothing_of_an_address_that_is_none) {
  const std::string v4 = outer_headers({.from = "", .to = "somewhere", .bytes = 1});
  ASSERT_EQ(v4.size(), 28u);
  EXPECT_EQ(v4.substr(12, 8), std::string(8, '\0'));
}

TEST(ReadFlow, tells_addresses_and_ports) {
  FlowKey key;
  ASSERT_TRUE(try_read(v4_packet(17), 28, key));
  EXPECT_EQ(key.from, "10.1.0.2");
  EXPECT_EQ(key.to, "10.2.0.2");
  EXPECT_EQ(key.from_port, 7000);
  EXPECT_EQ(key.to_port, 80);
  FlowKey piece;
  ASSERT_TRUE(try_read(v4_packet(17, 100), 28, piece));
  EXPECT_EQ(piece.from_port, 0) << "a later piece has no ports";
  FlowKey icmp;
  ASSERT_TRUE(try_read(v4_packet(1), 28, icmp));
  EXPECT_EQ(icmp.to_port, 0);
  std::string v6(44, '\0');
  v6[0] = 0x60, v6[5] = 24, v6[6] = 6, v6[41] = 22;
  FlowKey key_v6;
  ASSERT_TRUE(try_read(v6, 64, key_v6));
  EXPECT_EQ(key_v6.from, "::");
  EXPECT_EQ(key_v6.from_port, 22);
}

TEST(ReadFlow, takes_no_options_for_addresses) {
  std::string packet = v4_packet(17);
  packet[0] = 0x44;  // a header of 16 bytes
  FlowKey key;
  EXPECT_FALSE(try_read(packet, 28, key));
  packet[0] = 0x4F;  // one of 60, of which 28 were kept
  packet[3] = 64;
  EXPECT_TRUE(try_read(sealed(packet), 64, key));
  EXPECT_EQ(key.from_port, 0);
}

RC_GTEST_PROP(ReadFlow, reads_no_byte_that_is_not_there, (const std::vector<uint8_t>& bytes)) {
  // A copy of its own size, so that a sanitizer sees a byte too many.
  const std::vector<uint8_t> exact(bytes);
  FlowKey key;
  if (try_read_flow(exact, static_cast<uint32_t>(exact.size()), key))
    RC_ASSERT(exact.size() >= 20u);
}

/// Blocks of a file, by type, if each is as long as it says at either end.
std::vector<uint32_t> block_types(const std::string& text) {
  std::vector<uint32_t> types;
  for (size_t at = 0; at < text.size();) {
    uint32_t type = 0, length = 0, again = 0;
    std::memcpy(&type, &text[at], 4);
    std::memcpy(&length, &text[at + 4], 4);
    if (length < 12 || length % 4 != 0 || at + length > text.size()) return {};
    std::memcpy(&again, &text[at + length - 4], 4);
    if (again != length) return {};
    types.push_back(type);
    at += length;
  }
  return types;
}

RC_GTEST_PROP(Pcapng, is_made_of_whole_blocks, (const std::vector<uint8_t>& head)) {
  Pcapng file("a test");
  const uint32_t interface = file.add_interface("lan", "of hosts");
  file.add_packet({.interface = interface, .at_ns = 1, .bytes = 1500, .is_outward = true}, head);
  file.add_missed(interface, 2, 7);
  const std::vector<uint32_t> wanted = {0x0A0D0D0A, 1, 6, 5};
  RC_ASSERT(block_types(file.text()) == wanted);
}

}  // namespace
}  // namespace cw::daemon
