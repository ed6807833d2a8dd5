#include "dataplane/wire/crc/unseen_id.h"

#include "dataplane/base/assert.h"
#include "dataplane/wire/crc/polynomials.h"
#include "dataplane/wire/outer/ip_layout.h"

namespace cw {
namespace {

constexpr crc::Powers back_over_bytes = crc::powers_of(crc::back_over_zeros(1));
constexpr crc::Powers back_over_pages = crc::powers_of(crc::back_over_zeros(256));

/// From the identification's own two bytes to the BTH.
constexpr size_t bytes_to_transport =
    ip_layout::v4::bytes - ip_layout::v4::identification + ip_layout::udp::bytes;

/// A CRC takes its bytes in at its low end: an identification is 16 bits there, the first byte
/// lowest.
constexpr uint32_t as_taken_in(size_t id) {
  return static_cast<uint32_t>(id >> 8 & 0xff) | static_cast<uint32_t>(id & 0xff) << 8;
}

constexpr auto changes = [] {
  std::array<uint32_t, unseen_ids_max> all{};
  const uint32_t to_transport = crc::over_zeros(bytes_to_transport);
  for (size_t id = 0; id < all.size(); ++id) all[id] = crc::product(to_transport, as_taken_in(id));
  return all;
}();

/// What brings a difference of ICRCs back to where the identification was taken in.
uint32_t way_back(size_t transport_bytes) {
  const size_t bytes = bytes_to_transport + transport_bytes;
  CW_ASSERT(bytes >> 8 < back_over_pages.size());
  return crc::product(back_over_pages[bytes >> 8], back_over_bytes[bytes & 0xff]);
}

constexpr unsigned id_bits = 16;

}  // namespace

uint32_t change_by_id(size_t id) {
  CW_ASSERT(id < changes.size());
  return changes[id];
}

UnseenId::UnseenId(size_t transport_bytes) : transport_bytes_(transport_bytes) {
  const uint32_t back = way_back(transport_bytes);
  for (unsigned position = 0; position < unlike_.size(); ++position) {
    for (uint32_t value = 0; value < 256; ++value) {
      const uint32_t there = crc::product(back, value << 8 * position);
      unlike_[position][value] = static_cast<uint16_t>(there >> id_bits);
    }
  }
}

bool UnseenId::explains_slowly(uint32_t difference, size_t transport_bytes) {
  return crc::product(way_back(transport_bytes), difference) >> id_bits == 0;
}

}  // namespace cw
