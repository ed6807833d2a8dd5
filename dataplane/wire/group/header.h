// What stands in front of each slot of a group, and what a receiver asks of it before it places the
// slot (SPEC.md 18.1, 18.2). The slot's number and the step's lower eight bits travel in the
// immediate, where an RNIC shows them without a look at memory.
//
//   | version 4 | kind 4 | flags 8 | source 16 | key 32 |
//   | step 32                      | message 32         |
//   | slots of the message 32      | of its source 32   |
//   | clock 32            | path 8 | resends 8 | last 16 |
//
// Thread: any. Nothing allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "dataplane/base/assert.h"
#include "dataplane/base/endian.h"
#include "dataplane/base/limits.h"
#include "dataplane/wire/error.h"
#include "dataplane/wire/group/slots.h"
#include "dataplane/wire/immediate.h"

namespace cw::group {

inline constexpr size_t header_bytes = limits::group_header_bytes;
inline constexpr uint8_t header_version = 1;

enum class Kind : uint8_t {
  Multicast = 1,  ///< to all of the group, under the group's key
  Unicast = 2,    ///< to one member, under its key
  Fetched = 3,    ///< to one member that has asked for it, under its key
};

struct Header {
  Kind kind = Kind::Multicast;
  bool is_last_slot = false;     ///< of its message, or of one source's part
  bool is_last_message = false;  ///< of its source in the step
  bool wants_status = false;     ///< its source waits for STATUS of this message
  uint16_t source = 0;           ///< rank of who sends this packet, whoever made what is in it
  uint32_t key = 0;
  Step step;
  uint32_t message = 0;  ///< 0: of what all members come to have
  uint32_t slot = 0;     ///< 24 bits; in the immediate
  uint32_t message_slots = 0;
  uint32_t source_slots = 0;  ///< of this source for this receiver in the step; 0: not known
  uint32_t clock_us = 0;      ///< the sender's own
  uint8_t path = 0;
  uint8_t resends = 0;      ///< how often the slot was sent before; 255: so often, or more
  uint16_t last_bytes = 0;  ///< of the last slot of a message for a pool; else 0

  bool operator==(const Header&) const = default;

  uint32_t immediate() const { return split_multicast.pack({mark_of(step), slot, 0}); }
};

namespace detail {
inline constexpr uint8_t last_slot = 1, last_message = 2, wants_status = 4;
static_assert(header_bytes == 4 * sizeof(be64));
}  // namespace detail

/// Writes the header; the packet's immediate is header.immediate(). Returns header_bytes; `out`
/// holds at least as many. Cost: hot.
inline size_t encode_header(const Header& header, std::span<uint8_t> out) {
  CW_DCHECK(out.size() >= header_bytes);
  const auto put = [&](size_t index, uint32_t high, uint32_t low) {
    const be64 word(uint64_t{high} << 32 | low);
    std::memcpy(&out[index * sizeof(word)], &word, sizeof(word));
  };
  const uint32_t first = uint32_t{header_version} << 28 | static_cast<uint32_t>(header.kind) << 24 |
                         (header.is_last_slot ? detail::last_slot << 16 : 0u) |
                         (header.is_last_message ? detail::last_message << 16 : 0u) |
                         (header.wants_status ? detail::wants_status << 16 : 0u) | header.source;
  put(0, first, header.key);
  put(1, header.step.value(), header.message);
  put(2, header.message_slots, header.source_slots);
  put(3, header.clock_us,
      uint32_t{header.path} << 24 | uint32_t{header.resends} << 16 | header.last_bytes);
  return header_bytes;
}

/// Reads the header at the front of a hostile payload. Returns GroupShort, GroupVersion or
/// GroupKind [C-67]; with GroupShort nothing was read. Cost: hot.
inline std::optional<WireError> read_header(uint32_t immediate, std::span<const uint8_t> payload,
                                            Header& header) {
  if (payload.size() < header_bytes) return WireError::GroupShort;
  const auto word_at = [&](size_t index) {
    return read_at<be64>(&payload[index * sizeof(be64)]).host();
  };
  const uint64_t first = word_at(0), second = word_at(1), third = word_at(2), last = word_at(3);
  const auto kind = static_cast<uint8_t>(first >> 56 & 15);
  const auto flags = static_cast<uint8_t>(first >> 48);
  header.kind = static_cast<Kind>(kind);
  header.is_last_slot = (flags & detail::last_slot) != 0;
  header.is_last_message = (flags & detail::last_message) != 0;
  header.wants_status = (flags & detail::wants_status) != 0;
  header.source = static_cast<uint16_t>(first >> 32);
  header.key = static_cast<uint32_t>(first);
  header.step = Step(second >> 32);
  header.message = static_cast<uint32_t>(second);
  header.slot = split_multicast.unpack(immediate).slot;
  header.message_slots = static_cast<uint32_t>(third >> 32);
  header.source_slots = static_cast<uint32_t>(third);
  header.clock_us = static_cast<uint32_t>(last >> 32);
  header.path = static_cast<uint8_t>(last >> 24);
  header.resends = static_cast<uint8_t>(last >> 16);
  header.last_bytes = static_cast<uint16_t>(last);
  if (first >> 60 != header_version) return WireError::GroupVersion;
  const bool is_known =
      kind >= static_cast<uint8_t>(Kind::Multicast) && kind <= static_cast<uint8_t>(Kind::Fetched);
  const bool is_common = header.kind != Kind::Multicast || header.message == 0;
  return is_known && is_common ? std::nullopt : std::optional(WireError::GroupKind);
}

}  // namespace cw::group
