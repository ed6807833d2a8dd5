// Joined packets made up for tests, and checks that share no code with what they check.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dataplane/port/tun/offload.h"

namespace cw::test {

using ByteVector = std::vector<uint8_t>;

/// What a joined packet is to look like.
struct JoinedShape {
  bool is_v4 = true;
  bool is_tcp = true;
  uint32_t payload_bytes = 3000;
  uint16_t segment_bytes = 1000;
  uint16_t identification = 0xfffe;  ///< wraps on the way
  uint32_t seq = 0xfffff000;
  uint8_t flags = 0x10;
  uint8_t option_words = 3;
  uint32_t seed = 1;
};

struct Joined {
  ByteVector packet;  ///< as the kernel hands it out
  Offload offload;
};
Joined make_joined(const JoinedShape& shape);

/// The words of RFC 1071 in the slowest and plainest way.
uint16_t plain_sum(std::span<const uint8_t> bytes, uint32_t start = 0);
/// What is wrong with a packet of IPv4 or IPv6 with TCP or UDP: lengths, checksums; empty: nothing.
std::string fault_of(std::span<const uint8_t> packet);

/// All pieces of a joined packet.
std::vector<ByteVector> split_all(const Joined& joined);

}  // namespace cw::test
