#include "dataplane/wire/icrc.h"

#include <algorithm>
#include <cstring>

#include "dataplane/base/assert.h"
#include "dataplane/wire/frame.h"

namespace cw {
namespace {

// ---- arithmetic of polynomials over GF(2), reflected: bit 31 is x^0 -----------------------------

constexpr uint32_t polynomial = 0xedb88320;
constexpr uint32_t one = 0x80000000;

constexpr uint32_t times_x(uint32_t a) { return a >> 1 ^ (polynomial & -(a & 1)); }

constexpr uint32_t product(uint32_t a, uint32_t b) {
  uint32_t sum = 0;
  for (; a != 0; a <<= 1) {
    sum ^= b & -(a >> 31);  // without a branch: the bits are random
    b = times_x(b);
  }
  return sum;
}

/// x^(8 * step * i) for i = 0, 1, 2, ...: what that many zero bytes multiply a CRC by.
constexpr std::array<uint32_t, 256> make_powers(unsigned step) {
  uint32_t base = one;
  for (unsigned bit = 0; bit < 8 * step; ++bit) base = times_x(base);
  std::array<uint32_t, 256> powers{one};
  for (size_t i = 1; i < powers.size(); ++i) powers[i] = product(powers[i - 1], base);
  return powers;
}
constexpr auto powers_of_bytes = make_powers(1);
constexpr auto powers_of_pages = make_powers(256);

uint32_t power_for(size_t zero_bytes) {
  CW_ASSERT(zero_bytes <= crc32_shift_bytes_max);
  return product(powers_of_pages[zero_bytes >> 8], powers_of_bytes[zero_bytes & 0xff]);
}

// ---- the bytes that count as ones ---------------------------------------------------------------

constexpr size_t absent_lrh_bytes = 8;  // SPEC 3.2: an InfiniBand header that Ethernet lacks
constexpr size_t ipv4_header_bytes_max = 60;
constexpr size_t udp_header_bytes = 8;
constexpr size_t pseudo_ones = absent_lrh_bytes + 20 + udp_header_bytes;  // SPEC 3.3
constexpr size_t transport_headers_bytes_max = 64;
constexpr size_t head_bytes_max =
    absent_lrh_bytes + ipv4_header_bytes_max + udp_header_bytes + transport_headers_bytes_max;

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

constexpr size_t congestion_offset = offsetof(Bth, congestion);

// ---- the head of most packets, in registers -----------------------------------------------------

constexpr size_t plain_outer_bytes = 20 + udp_header_bytes;  // IPv4 without options
constexpr size_t plain_head_bytes = absent_lrh_bytes + plain_outer_bytes + sizeof(Bth);
static_assert(plain_head_bytes == 3 * 16);

using Words = uint64_t __attribute__((vector_size(16)));

constexpr auto plain_mask = [] {
  std::array<uint8_t, plain_head_bytes> mask{};
  for (const size_t at : {1, 8, 10, 11, 26, 27}) mask[absent_lrh_bytes + at] = 0xff;
  for (size_t at = 0; at < absent_lrh_bytes; ++at) mask[at] = 0xff;
  mask[absent_lrh_bytes + plain_outer_bytes + congestion_offset] = 0xff;
  return mask;
}();

bool is_plain(std::span<const uint8_t> ip_and_udp, std::span<const uint8_t> transport_headers) {
  return ip_and_udp.size() == plain_outer_bytes && ip_and_udp[0] >> 4 == 4 &&
         transport_headers.size() == sizeof(Bth) &&
         transport_headers.data() == ip_and_udp.data() + plain_outer_bytes;
}

Words words_at(const uint8_t* bytes) {
  Words words;
  std::memcpy(&words, bytes, sizeof words);
  return words;
}

/// Fills `head` from `ip_and_udp` and the BTH behind it. In pieces as wide as a CRC reads them: it
/// would wait for others.
void put_plain_head(const uint8_t* ip_and_udp, std::array<uint8_t, plain_head_bytes>& head) {
  uint64_t first = 0;
  std::memcpy(&first, ip_and_udp, sizeof first);
  const Words pieces[3] = {Words{0, first}, words_at(ip_and_udp + 8), words_at(ip_and_udp + 24)};
  for (size_t i = 0; i < 3; ++i) {
    const Words piece = pieces[i] | words_at(plain_mask.data() + 16 * i);
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
    : mode_(mode), crc32_(crc32), pseudo_seed_(0), full_shift_(full_payload_bytes) {
  std::array<uint8_t, pseudo_ones> ones;
  ones.fill(0xff);
  pseudo_seed_ = crc32_(0, ones.data(), ones.size());
}

/// The CRC of everything through `transport_headers`, which begin with the BTH.
uint32_t Icrc::crc_of_head(std::span<const uint8_t> ip_and_udp,
                           std::span<const uint8_t> transport_headers) const {
  if (mode_ == IcrcMode::Exact && is_plain(ip_and_udp, transport_headers)) {
    alignas(16) std::array<uint8_t, plain_head_bytes> plain;
    put_plain_head(ip_and_udp.data(), plain);
    return crc32_(0, plain.data(), plain.size());
  }
  std::array<uint8_t, head_bytes_max> head;
  const bool is_exact = mode_ == IcrcMode::Exact;
  const size_t outer_bytes = is_exact ? absent_lrh_bytes + ip_and_udp.size() : 0;
  const size_t bytes = outer_bytes + transport_headers.size();
  CW_ASSERT(bytes <= head.size() && transport_headers.size() >= sizeof(Bth));
  if (is_exact) {
    std::fill_n(head.begin(), absent_lrh_bytes, 0xff);
    std::memcpy(head.data() + absent_lrh_bytes, ip_and_udp.data(), ip_and_udp.size());
    mask_outer_headers(std::span(head).subspan(absent_lrh_bytes, ip_and_udp.size()));
  }
  std::memcpy(head.data() + outer_bytes, transport_headers.data(), transport_headers.size());
  head[outer_bytes + congestion_offset] = 0xff;
  return crc32_(is_exact ? 0 : pseudo_seed_, head.data(), bytes);
}

uint32_t Icrc::of(std::span<const uint8_t> ip_and_udp, std::span<const uint8_t> transport) const {
  if (!is_computed()) return 0;
  CW_ASSERT(transport.size() >= sizeof(Bth));
  const uint32_t crc = crc_of_head(ip_and_udp, transport.first(sizeof(Bth)));
  const auto rest = transport.subspan(sizeof(Bth));
  return crc32_(crc, rest.data(), rest.size());
}

uint32_t Icrc::of(std::span<const uint8_t> ip_and_udp, std::span<const uint8_t> transport_headers,
                  KnownPayload payload) const {
  if (!is_computed()) return 0;
  const uint32_t head = crc_of_head(ip_and_udp, transport_headers);
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
  uint8_t expected[icrc_bytes];
  write(of(ip_and_udp, transport), expected);
  return std::memcmp(expected, covered.data() + transport.size(), icrc_bytes) == 0;
}

void Icrc::write(uint32_t icrc, std::span<uint8_t, icrc_bytes> out) {
  for (size_t i = 0; i < icrc_bytes; ++i) out[i] = static_cast<uint8_t>(icrc >> 8 * i);
}

}  // namespace cw
