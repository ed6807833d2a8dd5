// Ranges of slots in the order in which something happened to them: left, came in, were asked for.
// Whatever waits the same time for every entry (a timeout, a reorder budget) expires in this very
// order, so one deadline, that of the front, stands for all of them.
//
// Neighbours that follow one another within `grain` become one entry that carries the later time:
// an entry is never early, and late by at most the grain. The FIFO thereby holds bursts of time,
// not slots, and costs the same for one slot and for 300,000.
#pragma once

#include <algorithm>
#include <cstdint>

#include "dataplane/base/units.h"
#include "dataplane/policy.h"
#include "policies/parts/array.h"
#include "policies/parts/bits.h"

namespace cw::policy {

/// Room for ranges, of which `most` would do for any line: one for so many slots as the stream may
/// have under way and held in all, since none leaves as often as each slot by itself.
inline size_t ranges_for(const cw_env& env, uint32_t slots_each, size_t most) {
  constexpr uint64_t least = 1'024;  // short messages, each a range
  const uint64_t slots = uint64_t{env.messages} * env.data_slots_max;
  return std::clamp<uint64_t>(slots / slots_each, least, most);
}

class RangeFifo {
 public:
  struct Entry {
    uint32_t message = 0;
    SlotRun slots;
    uint8_t kind = 0;  // the owner's; only alike ones become one
    Instant at;        // of the last slot of the entry
  };
  static_assert(sizeof(Entry) == 24);

  explicit RangeFifo(size_t capacity) : entries_(capacity) {}
  RangeFifo(const cw_env& env, size_t capacity) : entries_(env, capacity) {}

  bool is_ready() const { return entries_.is_ready(); }
  bool is_empty() const { return entries_.is_empty(); }
  bool is_full() const { return entries_.is_full(); }
  size_t count() const { return entries_.count(); }
  size_t capacity() const { return entries_.capacity(); }

  /// Times must not run backwards; one that does is taken as the latest known. False when full and
  /// nothing could be joined.
  bool try_push(uint32_t message, SlotRun slots, Instant at, Duration grain = {},
                uint8_t kind = 0) {
    if (slots.is_empty()) return true;
    if (!is_empty()) {
      Entry& back = entries_.back();
      at = std::max(at, back.at);
      const bool joins = back.message == message && back.kind == kind &&
                         back.slots.end == slots.first && at - begun_at_ <= grain;
      if (joins) {
        back.slots.end = slots.end;
        back.at = at;
        return true;
      }
    }
    if (!entries_.try_push({message, slots, kind, at})) return false;
    begun_at_ = at;
    return true;
  }
  /// Where there is no room: the youngest entry covers these slots as well, and what lies between,
  /// and waits from the later time. False when it is of another message or kind.
  bool try_cover(const Entry& entry) {
    if (is_empty()) return false;
    Entry& back = entries_.back();
    if (back.message != entry.message || back.kind != entry.kind) return false;
    back.slots.first = std::min(back.slots.first, entry.slots.first);
    back.slots.end = std::max(back.slots.end, entry.slots.end);
    back.at = std::max(back.at, entry.at);
    return true;
  }
  /// The entry that has waited longest; its slots may be shortened from below as they are dealt
  /// with.
  Entry& front() { return entries_.front(); }
  const Entry& back() const { return entries_.back(); }
  Entry pop() { return entries_.pop(); }

  /// When the front has waited for `wait`; never when there is nothing.
  Instant due(Duration wait) const {
    return is_empty() ? Instant::never() : entries_.front().at + wait;
  }

 private:
  Queue<Entry> entries_;
  Instant begun_at_;  // of the first slot of the youngest
};

}  // namespace cw::policy
