// Where things lie in the headers of IP packets that come from hosts and go to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dataplane/base/endian.h"

namespace cw::ip_layout {

inline constexpr uint8_t protocol_tcp = 6, protocol_udp = 17;

namespace v4 {
inline constexpr size_t bytes = 20, tos = 1, total_length = 2, identification = 4, fragment = 6,
                        ttl = 8, protocol = 9, checksum = 10, addresses = 12, addresses_bytes = 8;
}
namespace v6 {
inline constexpr size_t bytes = 40, payload_length = 4, next_header = 6, addresses = 8,
                        addresses_bytes = 32;
}
namespace tcp {
inline constexpr size_t bytes = 20, bytes_max = 60, seq = 4, data_offset = 12, flags = 13,
                        checksum = 16;
inline constexpr uint8_t fin = 0x01, psh = 0x08, ack = 0x10, ece = 0x40, cwr = 0x80;
}  // namespace tcp
namespace udp {
inline constexpr size_t bytes = 8, length = 4, checksum = 6;
}

template <class BigEndian>
auto load(const uint8_t* from) {
  return read_at<BigEndian>(from).host();
}
inline void store16(uint8_t* to, size_t value) {
  const be16 field(static_cast<uint16_t>(value));
  std::memcpy(to, &field, sizeof field);
}
inline void store32(uint8_t* to, uint32_t value) {
  const be32 field(value);
  std::memcpy(to, &field, sizeof field);
}

}  // namespace cw::ip_layout
