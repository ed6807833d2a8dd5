// The transport packet: what stands between the UDP header and the ICRC (SPEC.md section 2).
//
//   | BTH 12 | DETH 8 or RETH 16 or none | immediate 4 or none | payload | pad 0..3 |
//
// The general way reads and writes every header of every known opcode. The one packet that counts,
// UC RDMA WRITE ONLY WITH IMMEDIATE, has a short cut in roce_inline.h.
//
// Everything here is a pure function of its arguments. Thread: any. Nothing allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>

#include "dataplane/base/endian.h"
#include "dataplane/base/serial.h"
#include "dataplane/wire/error.h"
#include "dataplane/wire/opcode.h"

namespace cw {

// ---- layouts, as they lie on the wire -----------------------------------------------------------

struct Bth {
  uint8_t opcode;
  uint8_t flags;  ///< solicited 1 | migrated 1 | pad count 2 | version 4
  be16 partition_key;
  uint8_t congestion;  ///< FECN 1 | BECN 1 | reserved 6; the ICRC takes it as ones
  be24 target_qp;
  uint8_t ack_request;  ///< acknowledge request 1 | reserved 7
  be24 psn;

  static constexpr uint8_t solicited = 0x80, migrated = 0x40, version_mask = 0x0f;
  static constexpr unsigned pad_shift = 4;
  static constexpr uint8_t fecn = 0x80, becn = 0x40;
  static constexpr uint8_t acknowledge = 0x80;
};
struct Deth {
  be32 queue_key;
  uint8_t reserved;
  be24 source_qp;
};
struct Reth {
  be64 address;
  be32 key;
  be32 bytes;
};
struct AtomicEth {
  be64 address;
  be32 key;
  be64 swap_or_add;
  be64 compare;
};
struct Aeth {
  uint8_t syndrome;
  be24 message;
};
struct ImmDt {
  be32 value;
};

static_assert(sizeof(Bth) == 12 && sizeof(Deth) == 8 && sizeof(Reth) == 16);
static_assert(sizeof(AtomicEth) == 28 && sizeof(Aeth) == 4 && sizeof(ImmDt) == 4);

inline constexpr size_t icrc_bytes = 4;
inline constexpr uint16_t roce_udp_port = 4791;
/// RNICs send from no lower UDP port.
inline constexpr uint16_t rnic_source_port_min = 0xc000;
inline constexpr uint16_t default_partition_key = 0xffff;

/// Zero bytes between a payload and the ICRC, so that both together are a multiple of four.
constexpr size_t pad_bytes_for(size_t payload_bytes) { return (4 - payload_bytes % 4) % 4; }

// ---- the packet, decoded ------------------------------------------------------------------------

struct RdmaTarget {
  uint64_t address = 0;
  uint32_t key = 0;
  uint32_t bytes = 0;  ///< of the whole message
  bool operator==(const RdmaTarget&) const = default;
};
struct DatagramSource {
  uint32_t queue_key = 0;
  uint32_t source_qp = 0;  ///< 24 bits
  bool operator==(const DatagramSource&) const = default;
};
struct AtomicOperands {
  uint64_t address = 0;
  uint32_t key = 0;
  uint64_t swap_or_add = 0, compare = 0;
  bool operator==(const AtomicOperands&) const = default;
};
struct Acknowledgement {
  uint8_t syndrome = 0;
  uint32_t message = 0;  ///< 24 bits
  bool operator==(const Acknowledgement&) const = default;
};

/// A transport packet. Which of the optional headers are there is the opcode's to say.
struct Transport {
  uint8_t opcode = 0;
  bool is_solicited = false;
  bool is_migrated = true;  ///< SPEC 2.5 says why it is set
  bool wants_acknowledgement = false;
  bool has_fecn = false, has_becn = false;
  uint16_t partition_key = default_partition_key;
  uint32_t target_qp = 0;  ///< 24 bits
  Psn psn;
  std::optional<DatagramSource> datagram;
  std::optional<RdmaTarget> rdma;
  std::optional<AtomicOperands> atomic;
  std::optional<Acknowledgement> acknowledgement;
  std::optional<uint32_t> immediate;
  std::span<const uint8_t> payload;  ///< without pad; lives as long as the bytes it was parsed from

  const OpcodeFacts& facts() const { return opcode_table[opcode]; }
};

/// Reads a transport packet, `bytes` being all of it: BTH to pad, without the ICRC.
/// Returns: Short, Version, Opcode, Pad or Length, in this order of precedence. Reserved bits
///          (SPEC 1.3) and the content of the pad are not looked at.
std::expected<Transport, WireError> parse_transport(std::span<const uint8_t> bytes);

/// Writes the BTH and the headers that the opcode calls for; those `packet` lacks are written as
/// zeros. The payload is only measured: it and its pad follow wherever the caller keeps them.
/// Returns how many bytes, opcode_table[opcode].header_bytes; `out` holds at least as many.
size_t encode_transport_headers(const Transport& packet, std::span<uint8_t> out);

// ---- foreign packets ----------------------------------------------------------------------------

/// What the first twelve bytes say about a packet of any service, whoever made it.
struct TransportClass {
  OpcodeFacts facts;
  uint8_t opcode = 0;
  uint32_t target_qp = 0;
  Psn psn;
};

/// Reads the BTH only. Returns: Short, Version or Opcode.
std::expected<TransportClass, WireError> classify_transport(std::span<const uint8_t> bytes);

}  // namespace cw
