// What a stream that is appended slot by slot keeps of each slot, and the packet that it lies in.
#pragma once

#include <algorithm>
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
#include "dataplane/sdr/stream/send/store/slot_entry.h"
#include "dataplane/wan.h"

namespace cw::sdr {

/// Thread: one. Nothing allocates after construction.
class SlotTable {
 public:
  /// Empty for no places.
  SlotTable(uint32_t places, uint32_t slots_max, PacketStock& stock)
      : stock_(stock),
        kept_(places > 0 ? &stock.join() : nullptr),
        tables_(places > 0 ? &stock.tables(slots_max) : nullptr),
        lent_(places > 0 ? &tables_->join(places) : nullptr),
        no_row_(places > 0 ? tables_->blank() : nullptr),
        places_(places),
        rows_(places > 0 ? new SlotEntry*[places] : nullptr) {
    std::fill_n(rows_.get(), places, no_row_);
  }
  /// Gives up the packets of its slots.
  ~SlotTable() {
    if (blank_ != nullptr) stock_.give_up(*kept_, *blank_);
    for (uint32_t place = 0; place < places_; ++place) {
      if (!has_row(place)) continue;
      for (const SlotEntry& entry : std::span(rows_[place], tables_->slots_max())) {
        if (entry.packet != nullptr) stock_.give_up(*kept_, *entry.packet);
      }
      take_back(place);
    }
    stock_.flush();
  }
  SlotTable(const SlotTable&) = delete;
  SlotTable& operator=(const SlotTable&) = delete;

  bool is_empty() const { return rows_ == nullptr; }
  SlotEntry& at(uint32_t place, uint32_t slot) {
    CW_DCHECK(slot < tables_->slots_max());
    return rows_[place][slot];
  }
  const SlotEntry& at(uint32_t place, uint32_t slot) const { return rows_[place][slot]; }

  /// Whether there are packets for so many slots more of the message in this place.
  bool has_room(uint32_t place, size_t count) {
    return (has_row(place) || lent_->has_room(1)) && stock_.has_room(*kept_, count);
  }
  /// Memory for the next slot of this message, until put(); there is room.
  uint8_t* memory(uint32_t place) {
    if (!has_row(place)) rows_[place] = tables_->lend(*lent_);
    if (blank_ == nullptr) blank_ = &stock_.keep(*kept_);
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
    stock_.give_up(*kept_, *std::exchange(at(place, slot).packet, nullptr));
  }
  /// The message is over and all of its slots are given up.
  void close(uint32_t place) {
    if (!is_empty() && has_row(place)) take_back(place);
  }
  /// Has `send` own the packet that the slot lies in, too.
  void share(uint32_t place, uint32_t slot, Send& send) {
    const SlotEntry& entry = at(place, slot);
    send.packet = entry.packet;
    send.has_packet_alone = !entry.is_off || !stock_.is_shared(*entry.packet);
    stock_.share(*entry.packet);
  }

 private:
  bool has_row(uint32_t place) const { return rows_[place] != no_row_; }
  void take_back(uint32_t place) {
    tables_->take_back(*lent_, std::exchange(rows_[place], no_row_));
  }

  PacketStock& stock_;
  Portion* kept_;  // what of the stock its slots lie in
  SlotTableStock* tables_;
  Portion* lent_;      // of the tables
  SlotEntry* no_row_;  // nothing is lent
  uint32_t places_;
  std::unique_ptr<SlotEntry*[]> rows_;  // by place
  Packet* blank_ = nullptr;             // of the next slot, whichever it will be
};

}  // namespace cw::sdr
