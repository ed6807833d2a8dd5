// Everything that is asked of a group's datagram before its slot is claimed and placed, in the
// order of SPEC.md 18.2 [C-67].
// Thread: any. Nothing allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "dataplane/wire/group/header.h"

namespace cw::group {

/// A member of a group in one epoch, as its receiving side knows it.
struct Member {
  uint32_t group_key = 0;  ///< of what is multicast
  uint32_t own_key = 0;    ///< of what is sent to this member alone
  uint16_t members = 0;
  uint16_t rank = 0;
};

namespace detail {

inline std::optional<WireError> stranger(const Header& header, const Member& self) {
  const uint32_t key = header.kind == Kind::Multicast ? self.group_key : self.own_key;
  if (header.key != key) return WireError::GroupKey;
  if (header.source == self.rank) return WireError::GroupOwn;
  if (header.source >= self.members) return WireError::GroupSource;
  return std::nullopt;
}

/// What is multicast for the first time is its source's own [C-70].
inline bool is_slot_right(const Header& header, const Slots& slots) {
  if (header.slot >= slots.count() || header.message_slots != slots.part_slots()) return false;
  if (header.is_last_slot != slots.is_last(header.slot)) return false;
  if (header.source_slots != 0 && header.source_slots < header.message_slots) return false;
  const bool is_first = header.kind == Kind::Multicast && header.resends == 0;
  return !is_first || header.source == slots.source_of(header.slot);
}

}  // namespace detail

/// Reads the header in front of a hostile slot and checks it. `slots_of(header)` returns a
/// pointer to the Slots of its message, or of its step where the message is 0, and null where none
/// is open; it is asked once key, source and step are right, and may rely on kind and source.
/// `slot_bytes` stand behind the header, wherever. Returns: why the datagram is to be dropped, or
/// nothing: then the slot is as long as Slots::bytes_of(header.slot). Cost: hot.
template <class SlotsOf>
std::optional<WireError> check(uint32_t immediate, std::span<const uint8_t> prefix,
                               size_t slot_bytes, const Member& self, SlotsOf&& slots_of,
                               Header& header) {
  if (const auto error = read_header(immediate, prefix, header)) return error;
  if (const auto error = detail::stranger(header, self)) return error;
  // [C-69]
  if (split_multicast.unpack(immediate).id != mark_of(header.step)) return WireError::GroupStep;
  const Slots* const slots = slots_of(header);
  if (slots == nullptr) return WireError::GroupClosed;
  if (!detail::is_slot_right(header, *slots)) return WireError::GroupSlot;
  return slot_bytes == slots->bytes_of(header.slot) ? std::nullopt
                                                    : std::optional(WireError::GroupLength);
}

/// The same for a payload in one piece, the header in front.
template <class SlotsOf>
std::optional<WireError> check(uint32_t immediate, std::span<const uint8_t> payload,
                               const Member& self, SlotsOf&& slots_of, Header& header) {
  const size_t slot_bytes = payload.size() < header_bytes ? 0 : payload.size() - header_bytes;
  return check(immediate, payload, slot_bytes, self, slots_of, header);
}

}  // namespace cw::group
