// What a stream that is appended slot by slot keeps of each slot, and the packet that it lies in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "dataplane/base/assert.h"
#include "dataplane/base/units.h"
#include "dataplane/port.h"
#include "dataplane/sdr/message.h"
#include "dataplane/sdr/stream/send/store/packet_stock.h"
#include "dataplane/sdr/stream/send/store/slot_entry.h"
#include "dataplane/wan.h"

namespace cw::sdr {

/// Thread: one. Nothing allocates after construction.
class SlotTable {
 public:
  SlotTable(uint32_t places, uint32_t slots_max, PacketStock& stock)
      : stock_(stock),
        kept_(stock.join()),
        tables_(stock.tables(slots_max)),
        lent_(tables_.join(places)),
        rows_(places, tables_.blank()) {}
  /// Gives up the packets of its slots.
  ~SlotTable() {
    if (blank_ != nullptr) stock_.give_up(kept_, *blank_);
    for (uint32_t place = 0; place < rows_.size(); ++place) {
      if (!has_row(place)) continue;
      for (const SlotEntry& entry : std::span(rows_[place], tables_.slots_max())) {
        if (entry.packet != nullptr) stock_.give_up(kept_, *entry.packet);
      }
      take_back(place);
    }
    stock_.flush();
  }
  SlotTable(const SlotTable&) = delete;
  SlotTable& operator=(const SlotTable&) = delete;

  SlotEntry& at(uint32_t place, uint32_t slot) {
    CW_DCHECK(slot < tables_.slots_max());
    return rows_[place][slot];
  }
  const SlotEntry& at(uint32_t place, uint32_t slot) const { return rows_[place][slot]; }

  /// Whether there are packets for so many slots more of the message in this place.
  bool has_room(uint32_t place, size_t count) {
    return (has_row(place) || lent_.has_room(1)) && stock_.has_room(kept_, count);
  }
  /// Memory for the next slot of this message, until put(); there is room.
  uint8_t* memory(uint32_t place) {
    if (!has_row(place)) rows_[place] = tables_.lend(lent_);
    if (blank_ == nullptr) blank_ = &stock_.keep(kept_);
    return blank_->slot;
  }
  /// What was written to memory().
  void put(uint32_t place, uint32_t slot, const SlotPiece& piece, Instant now) {
    CW_ASSERT(blank_ != nullptr);
    CW_DCHECK(has_row(place));
    at(place, slot) = SlotEntry::make(piece, std::exchange(blank_, nullptr), now);
  }
  /// Nobody will read it any more.
  void give_up(uint32_t place, uint32_t slot) {
    stock_.give_up(kept_, *std::exchange(at(place, slot).packet, nullptr));
  }
  /// The message is over and all of its slots are given up.
  void close(uint32_t place) {
    if (has_row(place)) take_back(place);
  }
  /// Has `send` own the packet that the slot lies in, too.
  void share(uint32_t place, uint32_t slot, Send& send) {
    const SlotEntry& entry = at(place, slot);
    send.packet = entry.packet;
    send.has_packet_alone = !entry.is_off || !stock_.is_shared(*entry.packet);
    stock_.share(*entry.packet);
  }

 private:
  bool has_row(uint32_t place) const { return rows_[place] != tables_.blank(); }
  void take_back(uint32_t place) {
    tables_.take_back(lent_, std::exchange(rows_[place], tables_.blank()));
  }

  PacketStock& stock_;
  Portion& kept_;  // what of the stock its slots lie in
  SlotTableStock& tables_;
  Portion& lent_;                 // of the tables
  std::vector<SlotEntry*> rows_;  // by place; blank: none is lent
  Packet* blank_ = nullptr;       // of the next slot, whichever it will be
};

}  // namespace cw::sdr
