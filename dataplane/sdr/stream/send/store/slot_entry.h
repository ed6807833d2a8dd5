// What is kept of a slot that lies in a packet: sixteen bytes, in place of a list of pieces. Tables
// of them, one for each message under way, are lent from a stock that streams alike share: a stream
// that has little to send has few messages under way, though each may become long.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "dataplane/base/memory/stock.h"
#include "dataplane/base/memory/table.h"
#include "dataplane/base/units.h"
#include "dataplane/core/lazy_memory.h"
#include "dataplane/port.h"
#include "dataplane/sdr/message.h"

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

/// Thread: one. Nothing allocates after the last join(). Memory, lazily: of as many tables as one
/// stream has messages, half as many besides, and a few for each stream, since what is sent now and
/// then is closed after an RTT of silence and over two later.
class SlotTableStock {
 public:
  explicit SlotTableStock(uint32_t slots_max)
      : slots_max_(slots_max), blank_(slots_max, &memory_), lent_(0) {}

  uint32_t slots_max() const { return slots_max_; }
  /// One stream more, of so many messages at once; before anything is lent.
  Portion& join(uint32_t messages) {
    messages_ = std::max<size_t>(messages_, messages);
    ++streams_;
    const size_t count = std::min(Stock::count_for(messages_, streams_) + few * (streams_ - 1),
                                  messages_ * streams_);
    lent_.grow(count - unused_.size());
    while (unused_.size() < count) {
      unused_.push_back(Table<SlotEntry>(slots_max_, &memory_).get());
    }
    return lent_.join();
  }
  /// What stands for a table where none is lent; not to be written.
  SlotEntry* blank() { return blank_.get(); }
  /// The portion has room.
  SlotEntry* lend(Portion& stream) {
    stream.take();
    SlotEntry* const table = unused_.back();
    unused_.pop_back();
    return table;
  }
  void take_back(Portion& stream, SlotEntry* table) {
    stream.give_back();
    unused_.push_back(table);
  }

 private:
  static constexpr size_t few = 8;

  const uint32_t slots_max_;
  size_t messages_ = 0, streams_ = 0;
  LazyMemory memory_;
  Table<SlotEntry> blank_;
  std::vector<SlotEntry*> unused_;  // what was used last is last
  Stock lent_;
};

}  // namespace cw::sdr
