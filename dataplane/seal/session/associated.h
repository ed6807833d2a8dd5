// What of a packet is authenticated besides its payload, and by which nonce [C-84].
#pragma once

#include <cstdint>

#include "dataplane/base/endian.h"
#include "dataplane/wan.h"
#include "offload/aead/aead.h"

namespace cw::seal {

struct Associated {
  uint8_t opcode;
  uint8_t flags;  // bit 0: solicited, where PSNs are covered
  be16 reserved;
  be32 target_qp;
  be32 psn;  // all ones: not covered
  be32 key;
  be64 address;  // of a datagram 0, as is what follows the next
  be32 bytes;    // of the payload that is sealed
  be32 immediate;
};
static_assert(sizeof(Associated) == 32);

/// `head.payload_bytes` is what it was before it was sealed; of a datagram `target_qp` is the
/// number that both ends have for the link's control QP, whatever an RNIC calls it.
inline Associated associated_of(const SlotWrite& head, Form form, bool covers_psn) {
  const bool is_write = form == Form::Write;
  return {.opcode = opcode_of(form),
          .flags = static_cast<uint8_t>(covers_psn && head.is_solicited),
          .reserved = be16(0),
          .target_qp = be32(head.target_qp),
          .psn = be32(covers_psn ? head.psn.value() : ~uint32_t{0}),
          .key = be32(head.key),
          .address = be64(is_write ? head.address : 0),
          .bytes = be32(head.payload_bytes),
          .immediate = be32(is_write ? head.immediate : 0)};
}

struct Nonce {
  be32 zero{0};
  be64 number;
  const uint8_t* bytes() const { return reinterpret_cast<const uint8_t*>(this); }
};
static_assert(sizeof(Nonce) == CW_AEAD_NONCE_BYTES);

}  // namespace cw::seal
