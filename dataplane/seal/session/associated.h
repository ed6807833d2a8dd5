// What of a packet is authenticated besides its payload, and by which nonce [C-84].
#pragma once

#include <bit>
#include <cstdint>

#include "dataplane/base/endian.h"
#include "dataplane/wan.h"
#include "offload/aead/aead.h"

namespace cw::seal {

/// Written at once, as libraries read it: a load waits for stores that are narrower than itself.
struct SixteenBytes {
  using Words [[gnu::vector_size(16)]] = uint64_t;
  Words words;

  SixteenBytes(be64 first, be64 second)
      : words{std::bit_cast<uint64_t>(first), std::bit_cast<uint64_t>(second)} {}
};
static_assert(sizeof(SixteenBytes) == 16);

/// opcode:8, flags:8 (bit 0: solicited, where PSNs are covered), zeros:16, target QP:32,
/// PSN:32 (all ones: not covered), key:32;
/// address:64, length:32 of the payload that is sealed, immediate:32 (of a datagram 0, both).
struct Associated {
  SixteenBytes first, second;
};
static_assert(sizeof(Associated) == 32);

/// `head.payload_bytes` is what it was before it was sealed; of a datagram `target_qp` is the
/// number that both ends have for the link's control QP, whatever an RNIC calls it.
inline Associated associated_of(const SlotWrite& head, Form form, bool covers_psn) {
  const bool is_write = form == Form::Write;
  const auto word = [](uint32_t high, uint32_t low) { return be64(uint64_t{high} << 32 | low); };
  const auto flags = static_cast<uint32_t>(covers_psn && head.is_solicited);
  const uint32_t psn = covers_psn ? head.psn.value() : ~uint32_t{0};
  return {.first = {word(uint32_t{opcode_of(form)} << 24 | flags << 16, head.target_qp),
                    word(psn, head.key)},
          .second = {be64(is_write ? head.address : 0),
                     word(head.payload_bytes, is_write ? head.immediate : 0)}};
}

/// CW_AEAD_NONCE_BYTES of it: four zeros and the number.
class Nonce {
 public:
  explicit Nonce(uint64_t number) : bytes_(be64(number >> 32), be64(number << 32)) {}
  const uint8_t* bytes() const { return reinterpret_cast<const uint8_t*>(&bytes_); }

 private:
  SixteenBytes bytes_;
};
static_assert(sizeof(Nonce) >= CW_AEAD_NONCE_BYTES);

}  // namespace cw::seal
