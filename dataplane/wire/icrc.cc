#include "dataplane/wire/icrc.h"

#include <algorithm>
#include <cstring>

#include "dataplane/base/assert.h"
#include "dataplane/wire/crc/polynomials.h"
#include "dataplane/wire/outer/frame.h"

namespace cw {
namespace {

using crc::over_x;
using crc::product;

constexpr crc::Powers powers_of_bytes = crc::powers_of(crc::over_zeros(1));
constexpr crc::Powers powers_of_pages = crc::powers_of(crc::over_zeros(256));

uint32_t power_for(size_t zero_bytes) {
  CW_ASSERT(zero_bytes <= crc32_shift_bytes_max);
  return product(powers_of_pages[zero_bytes >> 8], powers_of_bytes[zero_bytes & 0xff]);
}

// ---- the bytes that count as ones ---------------------------------------------------------------

constexpr size_t absent_lrh_bytes = 8;  // SPEC 3.2: an InfiniBand header that Ethernet lacks
constexpr size_t ipv4_header_bytes_max = 60;
constexpr size_t udp_header_bytes = 8;
constexpr size_t pseudo_ones = absent_lrh_bytes + 20 + udp_header_bytes;  // SPEC 3.3

// A CRC begins with four bytes of ones in its register: with the first four of data they make
// zeros, which zeros in the register may stand for.
constexpr uint32_t crc_of_four_ones = ~uint32_t{0};
constexpr size_t ones_left = absent_lrh_bytes - 4;
static_assert(ones_left == sizeof(uint32_t));

/// SPEC 3.2: what routers and congestion marking may change on the way.
void mask_outer_headers(std::span<uint8_t> ip_and_udp) {
  constexpr uint8_t ones = 0xff;
  if (ip_and_udp[0] >> 4 == 4) {
    ip_and_udp[1] = ones;                           // DSCP, ECN
    ip_and_udp[8] = ones;                           // time to live
    std::fill_n(ip_and_udp.begin() + 10, 2, ones);  // header checksum
  } else {
    ip_and_udp[0] |= 0x0f;  // DSCP, ECN, flow label
    std::fill_n(ip_and_udp.begin() + 1, 3, ones);
    ip_and_udp[7] = ones;  // hop limit
  }
  std::fill_n(ip_and_udp.end() - 2, 2, ones);  // UDP checksum
}

// ---- the congestion byte ------------------------------------------------------------------------

constexpr size_t congestion_offset = offsetof(Bth, congestion);

/// What the CRC before a BTH must be changed by, for its fifth byte to count as `change` more.
constexpr uint32_t change_before(uint8_t change) {
  uint32_t a = change;
  for (size_t bit = 0; bit < 8 * congestion_offset; ++bit) a = over_x(a);
  return a;
}
constexpr uint32_t ones_before = change_before(0xff);

// ---- the outer headers of most packets, in registers --------------------------------------------

constexpr size_t plain_outer_bytes = 20 + udp_header_bytes;  // IPv4 without options
constexpr size_t plain_head_bytes = ones_left + plain_outer_bytes;
static_assert(plain_head_bytes == 2 * 16);

using Words = uint32_t __attribute__((vector_size(16)));

constexpr auto plain_mask = [] {
  std::array<uint8_t, plain_head_bytes> mask{};
  for (const size_t at : {1, 8, 10, 11, 26, 27}) mask[ones_left + at] = 0xff;
  return mask;
}();

template <class T>
T load(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

/// Fills `head` in pieces as wide as a CRC reads them: it would wait for others.
void put_plain_head(const uint8_t* ip, std::array<uint8_t, plain_head_bytes>& head) {
  const Words pieces[2] = {
      {~uint32_t{0}, load<uint32_t>(ip), load<uint32_t>(ip + 4), load<uint32_t>(ip + 8)},
      load<Words>(ip + 12)};
  for (size_t i = 0; i < 2; ++i) {
    const Words piece = pieces[i] | load<Words>(plain_mask.data() + 16 * i);
    std::memcpy(head.data() + 16 * i, &piece, sizeof piece);
  }
}

}  // namespace

uint32_t shift_crc32(uint32_t crc, size_t zero_bytes) {
  return product(power_for(zero_bytes), crc);
}

Crc32Shift::Crc32Shift(size_t zero_bytes) : zero_bytes_(zero_bytes) {
  const uint32_t power = power_for(zero_bytes);
  for (unsigned position = 0; position < 4; ++position) {
    for (uint32_t value = 0; value < 256; ++value) {
      table_[position][value] = product(power, value << 8 * position);
    }
  }
}

Icrc::Icrc(IcrcMode mode, Crc32Function crc32, size_t full_payload_bytes)
    : mode_(mode), crc32_(crc32), pseudo_start_(0), full_shift_(full_payload_bytes) {
  std::array<uint8_t, pseudo_ones> ones;
  ones.fill(0xff);
  pseudo_start_ = crc32_(0, ones.data(), ones.size()) ^ ones_before;
}

uint32_t Icrc::start(std::span<const uint8_t> ip_and_udp) const {
  if (mode_ != IcrcMode::Exact) return pseudo_start_;
  if (ip_and_udp.size() == plain_outer_bytes && ip_and_udp[0] >> 4 == 4) {
    alignas(16) std::array<uint8_t, plain_head_bytes> plain;
    put_plain_head(ip_and_udp.data(), plain);
    return crc32_(crc_of_four_ones, plain.data(), plain.size()) ^ ones_before;
  }
  std::array<uint8_t, ones_left + ipv4_header_bytes_max + udp_header_bytes> head;
  CW_ASSERT(ip_and_udp.size() <= head.size() - ones_left);
  std::fill_n(head.begin(), ones_left, 0xff);
  std::memcpy(head.data() + ones_left, ip_and_udp.data(), ip_and_udp.size());
  mask_outer_headers(std::span(head).subspan(ones_left, ip_and_udp.size()));
  return crc32_(crc_of_four_ones, head.data(), ones_left + ip_and_udp.size()) ^ ones_before;
}

/// The CRC of everything through `transport`, which begins with the BTH.
uint32_t Icrc::crc_from(uint32_t start, std::span<const uint8_t> transport) const {
  CW_ASSERT(transport.size() >= sizeof(Bth));
  // Zero in nearly every packet.
  if (const uint8_t marked = transport[congestion_offset]) start ^= change_before(marked);
  return crc32_(start, transport.data(), transport.size());
}

uint32_t Icrc::finish(uint32_t start, std::span<const uint8_t> transport) const {
  return is_computed() ? crc_from(start, transport) : 0;
}

uint32_t Icrc::finish(uint32_t start, std::span<const uint8_t> transport_headers,
                      KnownPayload payload) const {
  if (!is_computed()) return 0;
  const uint32_t head = crc_from(start, transport_headers);
  const uint32_t shifted = payload.bytes == full_shift_.zero_bytes()
                               ? full_shift_(head)
                               : shift_crc32(head, payload.bytes);
  constexpr uint8_t pad[3] = {};
  const size_t pad_bytes = pad_bytes_for(payload.bytes);
  const uint32_t crc = shifted ^ payload.crc;
  return pad_bytes == 0 ? crc : crc32_(crc, pad, pad_bytes);
}

bool Icrc::is_right(std::span<const uint8_t> ip_and_udp, std::span<const uint8_t> covered) const {
  if (!is_computed()) return true;  // SPEC 3.4, SPEC 3.5
  if (covered.size() < sizeof(Bth) + icrc_bytes) return false;
  const auto transport = covered.first(covered.size() - icrc_bytes);
  return of(ip_and_udp, transport) == read(covered.last<icrc_bytes>());
}

}  // namespace cw
