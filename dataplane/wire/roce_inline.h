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
  uint32_t immediate = 0;
  uint32_t payload_bytes = 0;
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
  detail::SlotWriteHeaders headers;
  std::memcpy(&headers, head.data(), sizeof(headers));
  const Bth& bth = headers.bth;
  slot.target_qp = bth.target_qp.host();
  slot.psn = Psn(bth.psn.host());
  slot.address = headers.reth.address.host();
  slot.key = headers.reth.key.host();
  slot.payload_bytes = headers.reth.bytes.host();
  slot.immediate = headers.immediate.value.host();
  slot.is_solicited = bth.flags & Bth::solicited;
  const uint64_t pad = -uint64_t{slot.payload_bytes} & 3;
  const uint64_t expected_bytes = slot_write_header_bytes + uint64_t{slot.payload_bytes} + pad;
  const auto wrong_flags =
      (bth.flags ^ pad << Bth::pad_shift) & (3u << Bth::pad_shift | Bth::version_mask);
  // One branch for all that may be wrong: it is never taken on a healthy wire.
  return ((bth.opcode ^ opcode_uc_write_only_immediate) | wrong_flags |
          (packet_bytes ^ expected_bytes)) == 0;
}

/// The same for a packet in one piece: its payload begins at slot_write_header_bytes.
inline bool try_parse_slot_write(std::span<const uint8_t> bytes, SlotWrite& slot) {
  return try_parse_slot_write(bytes, bytes.size(), slot);
}

/// Writes the headers; payload and pad_bytes_for() zeros follow wherever the caller keeps them.
/// Returns slot_write_header_bytes; `out` holds at least as many. Cost: hot.
inline size_t encode_slot_write(const SlotWrite& slot, std::span<uint8_t> out) {
  const auto pad = static_cast<uint8_t>(-slot.payload_bytes & 3);
  const detail::SlotWriteHeaders headers = {
      .bth = {.opcode = opcode_uc_write_only_immediate,
              .flags = static_cast<uint8_t>((slot.is_solicited ? Bth::solicited : 0) |
                                            Bth::migrated | pad << Bth::pad_shift),
              .partition_key = be16(default_partition_key),
              .congestion = 0,
              .target_qp = be24(slot.target_qp),
              .ack_request = 0,
              .psn = be24(slot.psn.value())},
      .reth = {be64(slot.address), be32(slot.key), be32(slot.payload_bytes)},
      .immediate = {be32(slot.immediate)},
  };
  CW_DCHECK(out.size() >= sizeof(headers));
  std::memcpy(out.data(), &headers, sizeof(headers));
  return sizeof(headers);
}

}  // namespace cw
