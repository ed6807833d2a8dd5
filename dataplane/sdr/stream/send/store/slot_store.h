// Where the bytes of a sending stream's slots lie; nothing else knows.
//
//   data, whole messages    in its application's memory, lent piece by piece
//   data, slot by slot      in the packet of the port that the slot is sent by
//   repair                  in memory of the stream's own, taken at start
//
// Three hold a message's bytes: who wants them sent (its stream), who codes them, and each Send
// that lies in memory outside, from its making until the port says Done. They stay as they are, and
// the place stays the message's, until all three have let go. A slot in a packet of its own needs
// no word of the port: such a packet has owners, and a Send is one.
//
// A slot has the number that packets and policies know it by: data from 0 on, repair behind the
// largest message. A message has the place of its stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "dataplane/base/assert.h"
#include "dataplane/base/limits.h"
#include "dataplane/base/memory/table.h"
#include "dataplane/base/result.h"
#include "dataplane/sdr/message.h"
#include "dataplane/sdr/options.h"
#include "dataplane/sdr/seat/code/repair_slots.h"
#include "dataplane/sdr/stream/send/store/packet_stock.h"
#include "dataplane/sdr/stream/send/store/slot_table.h"
#include "dataplane/sdr/stream/stream_config.h"
#include "dataplane/wire/roce.h"

namespace cw::sdr {

/// A run of slots of a message and the memory they are read from, which stays the application's;
/// slot by slot there is none, and slots lie in packets.
struct SendExtent {
  uint32_t first = 0, count = 0;
  uint32_t told = 0;  ///< of them appended to the policy: those that credit covers
  const uint8_t* memory = nullptr;
  uint64_t bytes = 0;
};

/// Whose bytes a Send holds: its cookie.
struct Lender {
  uint16_t link = 0, qp = 0;  // LinkKey
  uint32_t place = 0;

  constexpr uint64_t packed() const {
    return mark | uint64_t{link} << 40 | uint64_t{qp} << 32 | place;
  }
  static constexpr Lender unpacked(uint64_t cookie) {
    return {.link = static_cast<uint16_t>(cookie >> 40),
            .qp = static_cast<uint16_t>(cookie >> 32 & 0xff),
            .place = static_cast<uint32_t>(cookie)};
  }

 private:
  static constexpr uint64_t mark = uint64_t{1} << 63;  // no cookie is 0
};
static_assert(limits::qps_max <= 0x100);

/// Thread: the endpoint's worker. Nothing allocates after construction, save sentences of errors.
class SlotStore {
 public:
  /// `config` is the stream's: its payload_bytes are settled when an epoch begins. `stock` lives
  /// longer, and so does `memory`, of which a store without messages needs nothing. `link` is whose
  /// slots they are.
  SlotStore(const StreamConfig& config, const SendOptions& options, LinkKey link,
            PacketStock& stock, TableMemory& memory);

  bool is_by_slot() const { return slots_.has_value(); }
  /// A message begins: of the one before in its place at most `repair_end` repair slots were made.
  void open(uint32_t place, uint32_t repair_end);
  /// And is over, read by nobody.
  void close(uint32_t place) {
    if (is_by_slot()) slots_->close(place);
  }

  // ---- whole messages ----
  /// `bytes` at slot `first`; returns how many slots they are. Errors: Source::append()'s.
  Result<uint32_t> lend(uint32_t place, uint32_t first, std::span<const uint8_t> bytes);
  /// What was appended, in the order in which it was; slot by slot one that grows.
  std::span<SendExtent> extents(uint32_t place) {
    return {&extents_[size_t{place} * extents_max_], extent_counts_[place]};
  }
  std::span<const SendExtent> extents(uint32_t place) const {
    return const_cast<SlotStore&>(*this).extents(place);
  }

  // ---- slot by slot ----
  /// Whether there are packets for so many slots more of the message.
  bool has_room(uint32_t place, size_t count) { return slots_->has_room(place, count); }
  /// Memory for its next slot, until put(); there is room.
  uint8_t* memory(uint32_t place) { return slots_->memory(place); }
  void put(uint32_t place, uint32_t slot, const SlotPiece& piece, Instant now) {
    slots_->put(place, slot, piece, now);
    SendExtent& all = extents_[place];
    if (std::exchange(extent_counts_[place], uint16_t{1}) == 0) all = {};
    all.count = slot + 1;
    all.bytes += piece.bytes;
  }
  Instant appended(uint32_t place, uint32_t slot, Instant now) const {
    return slots_->at(place, slot).appended(now);
  }
  /// Nobody waits any more for the slot to leave: how long it is, or 0 when nobody did.
  uint32_t take_off(uint32_t place, uint32_t slot) {
    SlotEntry& entry = slots_->at(place, slot);
    if (entry.is_off) return 0;
    entry.is_off = true;
    return entry.bytes;
  }
  bool is_off(uint32_t place, uint32_t slot) const { return slots_->at(place, slot).is_off; }
  /// Nobody will read it any more.
  void give_up(uint32_t place, uint32_t slot) { slots_->give_up(place, slot); }

  // ---- what is read ----
  /// Empty where there is none: not yet, or not any more.
  std::span<const uint8_t> bytes_of(uint32_t place, uint32_t slot) const {
    if (is_repair(slot)) {
      const uint32_t repair = slot - config_.data_slots_max;
      return {repairs_.at(place, repair), repairs_.bytes(place, repair)};
    }
    if (!is_by_slot()) return lent_bytes_of(place, slot);
    const SlotEntry& entry = slots_->at(place, slot);
    if (entry.packet == nullptr) return {};
    return {entry.packet->slot, entry.bytes};
  }
  /// How many of the row are as long and as old as its first, which is there, and lie in the same
  /// piece: 1 to `count`.
  uint32_t count_alike(uint32_t place, uint32_t first, uint32_t stride, uint32_t count) const;
  /// Says where the slot's bytes lie, which bytes_of() has told: `send` holds them from now on.
  void lend(uint32_t place, uint32_t slot, std::span<const uint8_t> payload, Send& send) {
    send.payload = payload.data();
    send.head.payload_bytes = static_cast<uint32_t>(payload.size());
    if (is_by_slot() && !is_repair(slot)) return slots_->share(place, slot, send);
    send.packet = nullptr;
    send.has_packet_alone = false;
    send.cookie = Lender{link_, config_.qp, place}.packed();
    ++holds_[place].under_way;
  }
  void on_done(uint32_t place) {
    CW_ASSERT(holds_[place].under_way > 0);
    --holds_[place].under_way;
  }
  void begin_coding(uint32_t place) { ++holds_[place].coding; }
  void end_coding(uint32_t place) {
    CW_ASSERT(holds_[place].coding > 0);
    --holds_[place].coding;
  }
  bool is_coding(uint32_t place) const { return holds_[place].coding > 0; }
  /// Whether anybody but the stream still holds the message's bytes.
  bool is_read(uint32_t place) const {
    return holds_[place].coding > 0 || holds_[place].under_way > 0;
  }

  /// What the packet's outer header takes over from the slot. Of repair it goes where the latest
  /// data goes, the message's `last` slot, and answers to no host's congestion control.
  struct Marks {
    uint8_t ecn = 0, dscp = 0;
  };
  Marks marks_of(uint32_t place, uint32_t slot, uint32_t last) const {
    if (!is_by_slot()) return {};
    if (is_repair(slot)) return {.ecn = 0, .dscp = slots_->at(place, last).dscp};
    const SlotEntry& entry = slots_->at(place, slot);
    return {.ecn = entry.ecn, .dscp = entry.dscp};
  }

  /// The path that the slot took last; no_path: it has not left yet.
  static constexpr uint8_t no_path = UINT8_MAX;
  uint8_t& last_path(uint32_t place, uint32_t slot) { return last_paths_[index(place, slot)]; }

  bool is_repair(uint32_t slot) const { return slot >= config_.data_slots_max; }
  /// By their numbers among repair slots.
  RepairSlots& repairs() { return repairs_; }
  const RepairSlots& repairs() const { return repairs_; }

 private:
  Result<void> check(uint32_t place, uint32_t first, std::span<const uint8_t> bytes) const;
  SendExtent* extent_before(uint32_t place, uint32_t first, const uint8_t* memory);
  const SendExtent* extent_at(uint32_t place, uint32_t slot) const;
  std::span<const uint8_t> lent_bytes_of(uint32_t place, uint32_t slot) const;

  struct Holds {
    uint32_t coding = 0;     // rows at the desk
    uint32_t under_way = 0;  // Sends
  };

  size_t index(uint32_t place, uint32_t slot) const {
    CW_DCHECK(slot < slots_max_);
    return place * slots_max_ + slot;
  }

  const StreamConfig& config_;
  LinkKey link_;
  uint16_t extents_max_;  // of a message
  Table<SendExtent> extents_;
  Table<uint16_t> extent_counts_;
  std::optional<SlotTable> slots_;  // slot by slot
  RepairSlots repairs_;
  size_t slots_max_;  // of a message, repair included
  Table<uint8_t> last_paths_;
  Table<Holds> holds_;  // by place
};

}  // namespace cw::sdr
