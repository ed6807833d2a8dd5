// Exact ICRCs where the IPv4 identification is the kernel's affair: a UDP socket neither chooses it
// nor sees it (SPEC.md 3.8).
//
// Sent, it is known all the same: the kernel numbers the packets that it cuts a message into from 0
// on, and what it does not cut has 0. Received, it may be any. CRCs are linear: the right ICRC and
// the one for identification 0 differ by
//
//   identification * x^m mod P,    m: the bits of the packet behind it, ICRC included
//
// so that their difference times x^-m is 16 bits wide, and 16 others are zero. These are checked,
// and nothing else can be: a packet that chance has damaged passes once in 65,536 times. Of single
// bits none is missed, in packets of up to 9,216 bytes.
//
// Thread: any, all objects being constant once made. Nothing allocates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace cw {

/// What Icrc::start() of an IPv4 header without options is changed by, where its identification is
/// `id` and not 0; at most unseen_ids_max - 1. Cost: one look-up.
uint32_t change_by_id(size_t id);
inline constexpr size_t unseen_ids_max = 128;  // packets of one message

class UnseenId {
 public:
  /// `transport_bytes` is the length that most packets have, from BTH through pad; 2 KiB for it.
  explicit UnseenId(size_t transport_bytes);

  /// Whether some identification explains why the ICRC of a packet differs by `difference` from
  /// the one for identification 0. The IPv4 header has no options; `transport_bytes` is at most
  /// 65,535. Cost: four look-ups for the common length, else three multiplications.
  bool explains(uint32_t difference, size_t transport_bytes) const {
    if (difference == 0) return true;
    if (transport_bytes != transport_bytes_) return explains_slowly(difference, transport_bytes);
    return (unlike_[0][difference & 0xff] ^ unlike_[1][difference >> 8 & 0xff] ^
            unlike_[2][difference >> 16 & 0xff] ^ unlike_[3][difference >> 24]) == 0;
  }

 private:
  static bool explains_slowly(uint32_t difference, size_t transport_bytes);

  size_t transport_bytes_;
  // By byte of the difference: the bits that no identification has.
  std::array<std::array<uint16_t, 256>, 4> unlike_;
};

}  // namespace cw
