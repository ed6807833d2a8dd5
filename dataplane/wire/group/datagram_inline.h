// The short cut for the packet that carries a group's slots: UD SEND ONLY WITH IMMEDIATE, which is
// all that an RNIC multicasts (SPEC.md 18.1, [C-66]). It reads and writes the same bytes as roce.h.
//
//   | BTH 12 | DETH 8 | immediate 4 | payload | pad 0..3 |
//
// Its payload begins with a group's header (header.h).
// Thread: any. Nothing allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "dataplane/base/assert.h"
#include "dataplane/base/endian.h"
#include "dataplane/wire/opcode.h"
#include "dataplane/wire/roce.h"

namespace cw::group {

/// Where multicast packets go, whose groups their IP addresses and keys tell apart.
inline constexpr uint32_t multicast_qp = 0xffffff;
/// Of members whose config says no other: the first behind those of links [C-2].
inline constexpr uint32_t qpn_default = 0x00ca15;

/// How much longer an envelope is than a slot when both packets are equally long: the slot's has a
/// group header and an immediate more [18.4].
inline constexpr uint32_t envelope_bytes_beyond_slot = limits::group_header_bytes + 4;

/// One packet's transport headers. P_Key, acknowledge request and congestion bits are not told: on
/// receipt they decide nothing, and are written as default_partition_key and zeros.
struct Datagram {
  uint32_t target_qp = 0;  ///< 24 bits
  Psn psn;
  uint32_t queue_key = 0;
  uint32_t source_qp = 0;  ///< 24 bits
  uint32_t immediate = 0;
  uint32_t payload_bytes = 0;
  bool is_solicited = false;

  bool operator==(const Datagram&) const = default;
};

/// Bytes of headers in front of the payload.
inline constexpr size_t datagram_header_bytes =
    opcode_table[opcode_ud_send_only_immediate].header_bytes;
static_assert(datagram_header_bytes == 3 * sizeof(be64));

/// Reads the headers at the front of `head`; the whole transport packet, without its ICRC, is
/// `packet_bytes` long, wherever its payload lies. False for everything that is not a whole and
/// correct packet of this kind; parse_transport() then knows what it is or what is wrong with it.
/// Cost: hot.
inline bool try_parse_datagram(std::span<const uint8_t> head, size_t packet_bytes,
                               Datagram& datagram) {
  if (head.size() < datagram_header_bytes || packet_bytes < datagram_header_bytes) return false;
  const auto word_at = [&](size_t index) {
    return read_at<be64>(&head[index * sizeof(be64)]).host();
  };
  const uint64_t first = word_at(0), second = word_at(1), third = word_at(2);
  const auto opcode = static_cast<uint32_t>(first >> 56);
  const auto flags = static_cast<uint32_t>(first >> 48) & 0xff;
  const size_t rest = packet_bytes - datagram_header_bytes, pad = flags >> Bth::pad_shift & 3;
  datagram.target_qp = first & 0xffffff;
  datagram.psn = Psn(second >> 32 & 0xffffff);
  datagram.queue_key = static_cast<uint32_t>(second);
  datagram.source_qp = third >> 32 & 0xffffff;
  datagram.immediate = static_cast<uint32_t>(third);
  datagram.payload_bytes = static_cast<uint32_t>(rest - pad);
  datagram.is_solicited = (flags & Bth::solicited) != 0;
  return opcode == opcode_ud_send_only_immediate && (flags & Bth::version_mask) == 0 &&
         rest % 4 == 0 && pad <= rest;
}

/// Writes the headers; payload and pad_bytes_for() zeros follow wherever the caller keeps them.
/// Returns datagram_header_bytes; `out` holds at least as many. Cost: hot.
inline size_t encode_datagram(const Datagram& datagram, std::span<uint8_t> out) {
  CW_DCHECK(out.size() >= datagram_header_bytes);
  const uint32_t pad = -datagram.payload_bytes & 3;
  const uint32_t flags =
      (datagram.is_solicited ? Bth::solicited : 0u) | Bth::migrated | pad << Bth::pad_shift;
  const auto put = [&](size_t index, uint32_t high, uint32_t low) {
    const be64 word(uint64_t{high} << 32 | low);
    std::memcpy(&out[index * sizeof(word)], &word, sizeof(word));
  };
  put(0, uint32_t{opcode_ud_send_only_immediate} << 24 | flags << 16 | default_partition_key,
      datagram.target_qp & 0xffffff);
  put(1, datagram.psn.value(), datagram.queue_key);
  put(2, datagram.source_qp & 0xffffff, datagram.immediate);
  return datagram_header_bytes;
}

}  // namespace cw::group
