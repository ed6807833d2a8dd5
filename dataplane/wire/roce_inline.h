// The short cut for the packet that carries every slot: UC RDMA WRITE ONLY WITH IMMEDIATE. It reads
// and writes the same bytes as roce.h and costs a few nanoseconds; a worker tries it first and asks
// roce.h about whatever it declines.
#pragma once

#include <cstring>

#include "dataplane/base/assert.h"
#include "dataplane/wire/roce.h"

namespace cw {

/// A slot on the wire. P_Key, acknowledge request and congestion bits are not told: on receipt they
/// decide nothing, and are written as default_partition_key and zeros.
struct SlotWrite {
  uint32_t target_qp = 0;  ///< 24 bits
  Psn psn;
  uint64_t address = 0;
  uint32_t key = 0;
  uint32_t payload_bytes = 0;
  uint32_t immediate = 0;
  bool is_solicited = false;
};

/// Bytes of headers in front of a slot's payload.
inline constexpr size_t slot_write_header_bytes =
    opcode_table[opcode_uc_write_only_immediate].header_bytes;

namespace detail {
struct SlotWriteHeaders {
  Bth bth;
  Reth reth;
  ImmDt immediate;
};
static_assert(sizeof(SlotWriteHeaders) == slot_write_header_bytes);
}  // namespace detail

/// Reads the headers at the front of `head`; the whole transport packet, without its ICRC, is
/// `packet_bytes` long, wherever its payload lies. False for everything that is not a whole and
/// correct packet of this kind; parse_transport() then knows what it is or what is wrong with it.
/// Cost: hot.
inline bool try_parse_slot_write(std::span<const uint8_t> head, size_t packet_bytes,
                                 SlotWrite& slot) {
  if (head.size() < slot_write_header_bytes) return false;
  // Word by word, as encode_slot_write() has them.
  const auto word_at = [&](size_t index) {
    return read_at<be64>(&head[index * sizeof(be64)]).host();
  };
  const uint64_t first = word_at(0), second = word_at(1), third = word_at(2), last = word_at(3);
  const auto opcode = static_cast<uint32_t>(first >> 56);
  const auto flags = static_cast<uint32_t>(first >> 48);
  slot.target_qp = first & 0xffffff;
  slot.psn = Psn(second >> 32 & 0xffffff);
  slot.address = second << 32 | third >> 32;
  slot.key = static_cast<uint32_t>(third);
  slot.payload_bytes = static_cast<uint32_t>(last >> 32);
  slot.immediate = static_cast<uint32_t>(last);
  slot.is_solicited = (flags & Bth::solicited) != 0;
  const uint64_t pad = -uint64_t{slot.payload_bytes} & 3;
  const uint64_t expected_bytes = slot_write_header_bytes + uint64_t{slot.payload_bytes} + pad;
  const auto wrong_flags =
      (flags ^ pad << Bth::pad_shift) & (3u << Bth::pad_shift | Bth::version_mask);
  // One branch for all that may be wrong: it is never taken on a healthy wire.
  return ((opcode ^ opcode_uc_write_only_immediate) | wrong_flags |
          (packet_bytes ^ expected_bytes)) == 0;
}

/// The same for a packet in one piece: its payload begins at slot_write_header_bytes.
inline bool try_parse_slot_write(std::span<const uint8_t> bytes, SlotWrite& slot) {
  return try_parse_slot_write(bytes, bytes.size(), slot);
}

/// Writes the headers; payload and pad_bytes_for() zeros follow wherever the caller keeps them.
/// Returns slot_write_header_bytes; `out` holds at least as many. Cost: hot.
inline size_t encode_slot_write(const SlotWrite& slot, std::span<uint8_t> out) {
  CW_DCHECK(out.size() >= slot_write_header_bytes);
  const uint32_t pad = -slot.payload_bytes & 3;
  const uint32_t flags =
      (slot.is_solicited ? Bth::solicited : 0u) | Bth::migrated | pad << Bth::pad_shift;
  // Word by word: what is put together field by field elsewhere would be read wider than it was
  // written, and wait for the stores of the packet before.
  const auto put = [&](size_t index, uint32_t high, uint32_t low) {
    const be64 word(uint64_t{high} << 32 | low);
    std::memcpy(&out[index * sizeof(word)], &word, sizeof(word));
  };
  put(0, uint32_t{opcode_uc_write_only_immediate} << 24 | flags << 16 | default_partition_key,
      slot.target_qp & 0xffffff);
  put(1, slot.psn.value(), static_cast<uint32_t>(slot.address >> 32));
  put(2, static_cast<uint32_t>(slot.address), slot.key);
  put(3, slot.payload_bytes, slot.immediate);
  static_assert(slot_write_header_bytes == 4 * sizeof(be64));
  return slot_write_header_bytes;
}

}  // namespace cw
