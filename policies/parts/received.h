// What a sink has of a message: the core's bitmap, read a word at a time, plus what the core gave
// up, which nobody waits for any more.
#pragma once

#include <algorithm>
#include <cstdint>

#include "dataplane/policy.h"
#include "policies/parts/bits.h"

namespace cw::policy {

struct Received {
  const uint64_t*
      data;        // null until something has arrived; the core's, valid while the message is open
  uint32_t slots;  // CW_UNKNOWN until closed
  uint32_t cumulative;  // every slot below is settled
  uint32_t highest;     // the highest slot in place, plus one
  SlotRun given_up;
  uint32_t announced;  // so many have left, whatever came

  /// Bit s % 64 of word s / 64: slot s is in place or given up. Valid below end().
  uint64_t word(uint32_t index) const {
    const uint64_t given = given_up.is_empty() ? 0 : mask_of(index, given_up.first, given_up.end);
    return given | (data == nullptr ? 0 : cw_word(&data[index]));
  }
  /// The end of what may be asked for: known slots, or what has been seen or heard of.
  uint32_t end() const {
    return slots != CW_UNKNOWN ? slots : std::max({highest, given_up.end, announced});
  }
  bool is_complete() const { return slots != CW_UNKNOWN && cumulative >= slots; }
  /// The smallest run that covers all holes in [first, end).
  SlotRun holes(SlotRun range) const {
    return cover([this](uint32_t index) { return ~word(index); }, std::max(range.first, cumulative),
                 std::min(range.end, end()));
  }

  void on_arrived(const cw_fact_arrived& fact) {
    data = fact.data;
    highest = std::max(highest, fact.highest);
    if (fact.slots != CW_UNKNOWN) slots = fact.slots;
    cumulative = std::max(cumulative, fact.first_missing);
    advance();
  }
  void on_closed(uint32_t final_slots) {
    slots = final_slots;
    advance();
  }
  /// One run is remembered. It grows over what is in place; a run that lies apart, with open holes
  /// in between, is left to the core.
  void on_expired(SlotRun run) {
    if (given_up.is_empty()) {
      given_up = run;
    } else {
      const SlotRun both{std::min(run.first, given_up.first), std::max(run.end, given_up.end)};
      const SlotRun between{std::min(run.end, given_up.end), std::max(run.first, given_up.first)};
      const auto in_place = [this](uint32_t index) { return word(index); };
      if (next_clear(in_place, between.first, between.end) >= between.end) given_up = both;
    }
    advance();
  }

 private:
  void advance() {
    if (given_up.is_empty() || cumulative < given_up.first) return;
    cumulative = next_clear([this](uint32_t index) { return word(index); }, cumulative, end());
  }
};

}  // namespace cw::policy
