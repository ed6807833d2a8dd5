// A frame of Ethernet, IPv4 and UDP, as others than we would write it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cw::bench {

struct UdpFrame {
  const char *target_mac, *source_mac;  ///< "02:00:00:00:00:01"
  const char *source, *target;
  uint16_t source_udp_port = 4791, target_udp_port = 4791;
  size_t bytes = 128;            ///< link header included
  std::vector<uint8_t> payload;  ///< the rest is 0x29

  /// Its IP checksum is right; UDP's is none.
  std::vector<uint8_t> text() const;
};

}  // namespace cw::bench
