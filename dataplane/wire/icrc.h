// The Invariant CRC behind every transport packet (SPEC.md section 3).
//
// The payload's CRC and that of everything before it are computed apart and combined, because a
// slot that is sent again has new headers and old payload:
//
//   crc(head | payload) = shift(crc(head), payload bytes) ^ crc(payload)
//
// Nor are the outer headers read for every packet: those that go one way differ in lengths at most,
// and so begin alike. One byte of the BTH counts as ones; since CRCs are linear, what comes before
// it makes up for it, and no header is copied to be masked.
//
// The CRC-32 itself is handed in (offload/crc32.h has the fastest), so that packet code depends on
// no library. Thread: any, all objects being constant once made. Nothing allocates.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "dataplane/base/icrc_mode.h"
#include "dataplane/wire/roce.h"

namespace cw {

/// Continues a CRC-32 (0 at the start) over `count` bytes; the same as cw_crc32_fn.
using Crc32Function = uint32_t (*)(uint32_t crc, const void* bytes, size_t count);

/// No UDP packet is longer.
inline constexpr size_t crc32_shift_bytes_max = 0xffff;

/// What a CRC becomes by `zero_bytes` zero bytes behind it, at most crc32_shift_bytes_max: the
/// general way, two multiplications of polynomials.
uint32_t shift_crc32(uint32_t crc, size_t zero_bytes);

/// The same for one length, by four table look-ups; 4 KiB.
class Crc32Shift {
 public:
  explicit Crc32Shift(size_t zero_bytes);

  size_t zero_bytes() const { return zero_bytes_; }
  uint32_t operator()(uint32_t crc) const {
    return table_[0][crc & 0xff] ^ table_[1][crc >> 8 & 0xff] ^ table_[2][crc >> 16 & 0xff] ^
           table_[3][crc >> 24];
  }

 private:
  size_t zero_bytes_;
  std::array<std::array<uint32_t, 256>, 4> table_;
};

/// A payload whose CRC is known already.
struct KnownPayload {
  uint32_t crc = 0;  ///< over the payload, pad excluded
  size_t bytes = 0;  ///< pad excluded
};

/// Computes ICRCs in one mode. In the modes None and Hardware every ICRC is zero and none is wrong.
class Icrc {
 public:
  /// `full_payload_bytes` is the payload length that most packets have.
  Icrc(IcrcMode mode, Crc32Function crc32, size_t full_payload_bytes);

  IcrcMode mode() const { return mode_; }

  /// What the ICRCs of packets with these outer headers begin with: equal where addresses, ports
  /// and lengths are. `ip_and_udp` is everything from the IP header through the UDP header, not
  /// looked at in mode Pseudo.
  uint32_t start(std::span<const uint8_t> ip_and_udp) const;

  /// The ICRC of a packet in one piece; `transport` is everything from BTH through pad.
  uint32_t finish(uint32_t start, std::span<const uint8_t> transport) const;
  uint32_t of(std::span<const uint8_t> ip_and_udp, std::span<const uint8_t> transport) const {
    return finish(start(ip_and_udp), transport);
  }

  /// The same for a payload that lies elsewhere and is not read again: `transport_headers` ends
  /// where the payload would begin. The pad is taken as zeros.
  uint32_t finish(uint32_t start, std::span<const uint8_t> transport_headers,
                  KnownPayload payload) const;
  uint32_t of(std::span<const uint8_t> ip_and_udp, std::span<const uint8_t> transport_headers,
              KnownPayload payload) const {
    return finish(start(ip_and_udp), transport_headers, payload);
  }

  /// Whether the four bytes that end `covered`, which is a transport packet and its ICRC, are
  /// right.
  bool is_right(std::span<const uint8_t> ip_and_udp, std::span<const uint8_t> covered) const;

  /// Writes `icrc` as it lies on the wire, least significant byte first.
  static void write(uint32_t icrc, std::span<uint8_t, icrc_bytes> out) {
    const uint32_t wire = on_wire(icrc);
    std::memcpy(out.data(), &wire, sizeof wire);
  }
  static uint32_t read(std::span<const uint8_t, icrc_bytes> from) {
    return on_wire(read_at<uint32_t>(from.data()));
  }

 private:
  static constexpr uint32_t on_wire(uint32_t icrc) {
    return std::endian::native == std::endian::little ? icrc : std::byteswap(icrc);
  }
  bool is_computed() const { return mode_ == IcrcMode::Exact || mode_ == IcrcMode::Pseudo; }
  uint32_t crc_from(uint32_t start, std::span<const uint8_t> transport) const;

  IcrcMode mode_;
  Crc32Function crc32_;
  uint32_t pseudo_start_;
  Crc32Shift full_shift_;
};

}  // namespace cw
