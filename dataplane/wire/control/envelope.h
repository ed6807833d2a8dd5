// The envelope: what makes a row of records a control packet (SPEC.md 4).
//
//   | header 32: magic, version, key, length, link, two nonces, sequence | records ... | MAC 16 |
//
// An envelope is sealed once and opened as a whole: nothing in it is looked at before its MAC has
// been verified, and no record is handed out before the framing of all of them has been checked.
// Whether the nonces and the sequence are acceptable is epoch.h's question.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>

#include "dataplane/base/limits.h"
#include "dataplane/wire/control/control.h"
#include "dataplane/wire/control/record.h"

namespace cw {

inline constexpr uint32_t control_qkey = 0x1ca05e0a;       ///< [C-1]
inline constexpr uint32_t control_qpn_default = 0x00ca05;  ///< of link 0 [C-2]
/// What the wire calls a link: one that takes the place of another goes by its name [C-60].
constexpr uint16_t wire_link_of(uint16_t number) {
  return static_cast<uint16_t>(number % limits::links_max);
}
/// Where the control packets of a link go before its peer has said otherwise.
constexpr uint32_t control_qpn_of(uint16_t number) {
  return control_qpn_default + wire_link_of(number);
}

/// Each link of a pair draws the numbers of its data QPs from a part of their own: no two draw the
/// same, wherever they live, and whoever steers packets to them reads the link off the number.
inline constexpr uint32_t qpns_per_link = (1u << 24) / limits::link_numbers_max;
constexpr uint32_t first_qpn_of(uint16_t link) { return link * qpns_per_link; }
constexpr uint32_t link_of_qpn(uint32_t qpn) { return qpn / qpns_per_link; }

inline constexpr size_t envelope_header_bytes = 32;
inline constexpr size_t envelope_mac_bytes = 16;
inline constexpr size_t envelope_bytes_min = envelope_header_bytes + envelope_mac_bytes;
/// How much longer than a slot's payload an envelope is when both packets are equally long on the
/// wire: RETH and immediate (20 bytes) against DETH (8) [C-10].
inline constexpr size_t envelope_bytes_beyond_payload = 12;
inline constexpr size_t envelope_bytes_max =
    limits::payload_bytes_max + envelope_bytes_beyond_payload;
static_assert(limits::control_bytes_max <= envelope_bytes_max);
static_assert(envelope_bytes_max <= UINT16_MAX);

/// HMAC-SHA-256 with its key, handed in (offload/mac.h) and never shown to anybody [C-51].
/// `state` outlives whoever holds this.
struct MacKey {
  const void* state = nullptr;
  void (*compute)(const void* state, const void* bytes, size_t count, uint8_t out[32]) = nullptr;
  uint8_t number = 0;  ///< by which both ends tell it from their other keys
};

struct EnvelopeHeader {
  uint64_t sender_nonce = 0;    ///< never zero on the wire
  uint64_t receiver_nonce = 0;  ///< zero: not known yet
  uint64_t sequence = 0;        ///< from 1, strictly increasing per sender nonce
  uint16_t link = 0;            ///< which link of the pair

  bool operator==(const EnvelopeHeader&) const = default;
};

/// An opened envelope; `records` points into its packet.
struct Envelope {
  EnvelopeHeader header;
  std::span<const uint8_t> records;
  RecordTypes types = 0;  ///< which known records are in it
  RecordTypes known = control_record_types;

  RecordReader reader() const { return {records, known}; }
};

/// Verifies a UD payload: magic, version, length, key, MAC, then the framing of its records, of
/// which those of `known` types are read. `bytes` is hostile. Cost: one MAC over the bytes, except
/// for those that fail before; no allocation.
std::expected<Envelope, ControlError> open_envelope(std::span<const uint8_t> bytes,
                                                    const MacKey& key,
                                                    RecordTypes known = control_record_types);

/// What an envelope says of whose it is, before anybody has vouched for it.
struct EnvelopePeek {
  EnvelopeHeader header;
  std::optional<Hello> hello;  ///< that it begins with, if it does
};
/// For who has to choose by whose key it is opened. `bytes` is hostile. Cost: some words.
EnvelopePeek peek_envelope(std::span<const uint8_t> bytes);
/// That they begin with, if they do.
std::optional<Hello> first_hello(RecordReader records);

/// Builds one envelope in a buffer of the caller's, at least envelope_bytes_min long. What lies in
/// the buffer is an envelope only after seal().
class EnvelopeWriter {
 public:
  EnvelopeWriter(std::span<uint8_t> buffer, const EnvelopeHeader& header);

  /// Appends a valid record. False when it does not fit; the buffer is then as it was.
  template <class Record>
  bool try_add(const Record& record) {
    return records_.try_add(record);
  }
  /// The longest body that still fits.
  size_t body_room() const { return records_.body_room(); }
  bool is_empty() const { return records_.bytes() == 0; }
  /// Writes length, key and MAC; returns the envelope's bytes, a multiple of 4.
  size_t seal(const MacKey& key);

 private:
  std::span<uint8_t> buffer_;
  RecordWriter records_;
};

}  // namespace cw
