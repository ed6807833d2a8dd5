// Which slots a gap in the transmission numbers stands for. A receiver sees that numbers 7 and 8
// are missing; that they were slots 107 and 108 follows when 6 carried slot 106 and 9 carried slot
// 109 of the same message. Where the sender jumped in between (a resend, another message) nothing
// is claimed.
#pragma once

#include <cstdint>
#include <optional>

#include "dataplane/base/memory/ring.h"
#include "dataplane/base/serial.h"

namespace cw::sdr {

/// Slots first, first + stride, ... of one message.
struct MissingSlots {
  uint16_t qp_index = 0;
  uint32_t place = 0;
  MessageSeq seq;
  uint32_t first = 0, count = 0, stride = 1;
};

/// One per PSN tracker. Thread: one. Bounded: the oldest gaps are forgotten first.
class GapLedger {
 public:
  static constexpr size_t gaps_max = 64;

  struct Slot {
    uint16_t qp_index = 0;
    uint32_t place = 0;
    MessageSeq seq;
    uint32_t slot = 0;
    bool is_repair = false;  ///< between data and repair lies no row of slots
  };

  /// A packet with the highest PSN yet.
  void on_fresh(Psn psn, const Slot& slot) {
    if (has_last_ && last_psn_.distance_to(psn) > 1) remember(psn, slot);
    last_psn_ = psn;
    // One by one: as a whole it would be read wider than it has just been written, and wait for
    // every store before that.
    last_.qp_index = slot.qp_index;
    last_.place = slot.place;
    last_.seq = slot.seq;
    last_.slot = slot.slot;
    last_.is_repair = slot.is_repair;
    has_last_ = true;
  }
  /// What transmissions first .. first + count - 1 carried, if the ledger can tell.
  std::optional<MissingSlots> find(Psn first, uint32_t count) const {
    for (size_t i = 0; i < gaps_.count(); ++i) {
      const Gap& gap = gaps_.at(i);
      const int64_t offset = gap.first.distance_to(first);
      if (offset < 0 || offset + count > gap.slots.count) continue;
      MissingSlots found = gap.slots;
      found.first += static_cast<uint32_t>(offset) * gap.slots.stride;
      found.count = count;
      return found;
    }
    return std::nullopt;
  }
  void clear() {
    gaps_.clear();
    has_last_ = false;
  }

 private:
  struct Gap {
    Psn first;
    MissingSlots slots;
  };

  void remember(Psn psn, const Slot& slot) {
    const int64_t steps = last_psn_.distance_to(psn);
    const bool is_same = slot.qp_index == last_.qp_index && slot.seq == last_.seq &&
                         slot.is_repair == last_.is_repair;
    if (steps < 2 || !is_same || slot.slot <= last_.slot) return;
    const uint32_t span = slot.slot - last_.slot;
    if (span % steps != 0) return;
    const auto stride = static_cast<uint32_t>(span / steps);
    if (gaps_.is_full()) gaps_.pop();
    gaps_.try_push({last_psn_ + 1,
                    {.qp_index = slot.qp_index,
                     .place = slot.place,
                     .seq = slot.seq,
                     .first = last_.slot + stride,
                     .count = static_cast<uint32_t>(steps - 1),
                     .stride = stride}});
  }

  Ring<Gap> gaps_{gaps_max};
  Psn last_psn_;
  Slot last_;
  bool has_last_ = false;
};

}  // namespace cw::sdr
