// What a stream that is appended slot by slot keeps of each slot: sixteen bytes, in place of a list
// of pieces, and the packet that it lies in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "dataplane/base/assert.h"
#include "dataplane/base/units.h"
#include "dataplane/port.h"
#include "dataplane/sdr/message.h"
#include "dataplane/sdr/stream/send/store/packet_stock.h"
#include "dataplane/wan.h"

namespace cw::sdr {

/// Times count in steps of 1024 ns and wrap after six days: a slot is never that old.
struct SlotEntry {
  uint16_t bytes = 0;
  uint8_t ecn : 2 = 0;
  uint8_t dscp : 6 = 0;
  bool is_off : 1 = false;  ///< has left once, or will never leave: nobody waits for it to
  uint8_t steps_high : 7 = 0;
  uint32_t steps_low = 0;
  Packet* packet = nullptr;  ///< null: nobody will read the slot again

  static SlotEntry make(const SlotPiece& piece, Packet* packet, Instant appended) {
    const uint64_t steps = steps_of(appended);
    SlotEntry entry;
    entry.bytes = piece.bytes;
    entry.ecn = piece.ecn & 3;
    entry.dscp = piece.dscp & 63;
    entry.steps_high = static_cast<uint8_t>(steps >> 32 & 0x7f);
    entry.steps_low = static_cast<uint32_t>(steps);
    entry.packet = packet;
    return entry;
  }
  /// Whether it is as long and as old, and still there.
  bool is_alike(const SlotEntry& other) const {
    return packet != nullptr && bytes == other.bytes && steps_low == other.steps_low &&
           steps_high == other.steps_high;
  }
  /// Up to a step before it was, never after.
  Instant appended(Instant now) const {
    const uint64_t steps = uint64_t{steps_high} << 32 | steps_low;
    const uint64_t age = (steps_of(now) - steps) & steps_mask;
    return Instant::from_ns(static_cast<int64_t>(steps_of(now) - age) * step_ns);
  }

 private:
  static constexpr int64_t step_ns = 1024;
  static constexpr uint64_t steps_mask = (uint64_t{1} << 39) - 1;
  static uint64_t steps_of(Instant at) { return static_cast<uint64_t>(at.ns()) / step_ns; }
};
static_assert(sizeof(SlotEntry) == 16);

/// Thread: one. Memory: sixteen bytes for every slot of every place, from the start.
class SlotTable {
 public:
  /// Empty for no places.
  SlotTable(uint32_t places, uint32_t slots_max, PacketStock& stock)
      : stock_(stock),
        kept_(places > 0 ? &stock.join() : nullptr),
        slots_max_(slots_max),
        count_(size_t{places} * slots_max),
        entries_(count_ > 0 ? new SlotEntry[count_]() : nullptr) {}
  /// Gives up the packets of its slots.
  ~SlotTable() {
    if (blank_ != nullptr) stock_.give_up(*kept_, *blank_);
    for (const SlotEntry& entry : std::span(entries_.get(), count_)) {
      if (entry.packet != nullptr) stock_.give_up(*kept_, *entry.packet);
    }
    stock_.flush();
  }
  SlotTable(const SlotTable&) = delete;
  SlotTable& operator=(const SlotTable&) = delete;

  bool is_empty() const { return entries_ == nullptr; }
  SlotEntry& at(uint32_t place, uint32_t slot) {
    CW_DCHECK(slot < slots_max_);
    return entries_[size_t{place} * slots_max_ + slot];
  }
  const SlotEntry& at(uint32_t place, uint32_t slot) const {
    return const_cast<SlotTable&>(*this).at(place, slot);
  }

  /// Whether there are packets for so many slots more.
  bool has_room(size_t count) { return stock_.has_room(*kept_, count); }
  /// Memory for the next slot, until put(); there is room.
  uint8_t* memory() {
    if (blank_ == nullptr) blank_ = &stock_.keep(*kept_);
    return blank_->slot;
  }
  /// What was written to memory().
  void put(uint32_t place, uint32_t slot, const SlotPiece& piece, Instant now) {
    CW_ASSERT(blank_ != nullptr);
    at(place, slot) = SlotEntry::make(piece, std::exchange(blank_, nullptr), now);
  }
  /// Nobody will read it any more.
  void give_up(uint32_t place, uint32_t slot) {
    stock_.give_up(*kept_, *std::exchange(at(place, slot).packet, nullptr));
  }
  /// Has `send` own the packet that the slot lies in, too.
  void share(uint32_t place, uint32_t slot, Send& send) {
    const SlotEntry& entry = at(place, slot);
    send.packet = entry.packet;
    send.has_packet_alone = !entry.is_off || !stock_.is_shared(*entry.packet);
    stock_.share(*entry.packet);
  }

 private:
  PacketStock& stock_;
  Portion* kept_;  // what of the stock its slots lie in
  uint32_t slots_max_;
  size_t count_;
  std::unique_ptr<SlotEntry[]> entries_;
  Packet* blank_ = nullptr;  // of the next slot, whichever it will be
};

}  // namespace cw::sdr
