// Who has asked for which slot of late: what many lack was lost above them all, and is multicast
// once more instead of sent to each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "dataplane/base/units.h"

namespace cw::group {

/// Of the slots of one operation. Of two whose numbers are `places` apart the later one counts.
/// Thread: one. Allocates nothing.
class Demand {
 public:
  enum class Answer : uint8_t {
    Lacking,   ///< it is not here
    Alone,     ///< to who asks
    Again,     ///< to all
    OnItsWay,  ///< to all, already
  };

  struct Terms {
    uint32_t many = 0;  ///< who ask for a slot are worth a multicast
    /// Within which all of them ask: as long as they differ in when they find a hole, and have
    /// perhaps asked somebody else before.
    Duration time;
    Duration queue;  ///< in which answers wait
  };

  void clear() {
    rows_.fill({});
    wanted_ = 0;
  }
  /// A member asks.
  Answer note(uint32_t slot, uint16_t who, const Terms& terms, Instant now) {
    Row& row = rows_[slot % places];
    if (row.slot != slot || now >= row.until) renew(row, slot);
    const bool is_new = row.askers == 0 || row.last != who;
    if (row.askers >= terms.many || (!is_new && now < row.leaves)) return Answer::OnItsWay;
    row.askers += is_new;
    row.last = who;
    row.leaves = now + terms.queue;
    row.until = row.leaves + terms.time;
    return row.askers >= terms.many ? Answer::Again : Answer::Alone;
  }

  /// A member asks for what we have to fetch ourselves.
  void want(uint32_t slot, uint16_t who) {
    Row& row = rows_[slot % places];
    if (row.slot != slot || !row.is_wanted) {
      renew(row, slot);
      row.is_wanted = true;
      ++wanted_;
    }
    row.askers += row.askers == 0 || row.last != who;
    row.last = who;
  }
  struct Wanted {
    uint32_t askers = 0;  ///< 0: nobody waits for it
    uint16_t last = 0;
  };
  /// It has come.
  Wanted take(uint32_t slot) {
    Row& row = rows_[slot % places];
    if (row.slot != slot || !row.is_wanted) return {};
    const Wanted wanted{row.askers, row.last};
    renew(row, no_slot);
    return wanted;
  }
  bool has_wanted() const { return wanted_ > 0; }

 private:
  static constexpr size_t places = 256;
  static constexpr uint32_t no_slot = UINT32_MAX;

  struct Row {
    uint32_t slot = no_slot;
    uint16_t last = 0;
    uint16_t askers = 0;
    bool is_wanted = false;
    Instant leaves, until;  // of what answered last
  };

  void renew(Row& row, uint32_t slot) {
    wanted_ -= row.is_wanted;
    row = {.slot = slot};
  }

  std::array<Row, places> rows_{};
  uint32_t wanted_ = 0;
};

}  // namespace cw::group
