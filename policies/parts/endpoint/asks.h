// What was asked for and has not come: a record for each run, in a row per message, from one pool.
// As long as an answer may be on its way, the slots of its record that are still missing count as
// outstanding, of all messages together.
#pragma once

#include <cstdint>
#include <utility>

#include "dataplane/base/assert.h"
#include "policies/parts/array.h"
#include "policies/parts/endpoint/open_message.h"

namespace cw::policy {

struct Ask {
  SlotRun slots;
  uint32_t missing;  // of them
  uint8_t tries;     // how often they had been asked for before, in vain
  bool is_answered;  // its source says so, since asked_at
  bool is_counted;   // as outstanding
  bool is_rest;      // the end of a message: nothing behind it has come
  Instant asked_at;
  Ask* next;  // of the same message
};
static_assert(sizeof(Ask) == 32);

class Asks {
 public:
  /// One for the end of each message, and for so many holes.
  static constexpr size_t holes_max = 16'384;

  explicit Asks(const cw_env& env) : items_(env, env.messages + holes_max) {}
  bool is_ready() const { return items_.is_ready(); }

  bool is_empty() const { return free_ == nullptr && used_ == items_.count(); }
  uint32_t outstanding() const { return outstanding_; }

  /// Into a message's row; there must be one left.
  Ask& add(Ask*& row, SlotRun slots, bool is_rest) {
    CW_DCHECK(!is_empty());
    Ask* const ask = free_ != nullptr ? std::exchange(free_, free_->next) : &items_[used_++];
    *ask = {.slots = slots, .missing = slots.count(), .is_rest = is_rest, .next = row};
    row = ask;
    return *ask;
  }
  /// Takes the record that `at` points to out of its row.
  void drop(Ask*& at) {
    Ask* const ask = at;
    uncount(*ask);
    at = ask->next;
    ask->next = free_;
    free_ = ask;
  }
  void count(Ask& ask, Instant now) {
    ask.asked_at = now;
    if (!std::exchange(ask.is_counted, true)) outstanding_ += ask.missing;
  }
  /// Its answer is not on its way, or not any more.
  void uncount(Ask& ask) {
    if (std::exchange(ask.is_counted, false)) outstanding_ -= ask.missing;
  }
  void set_missing(Ask& ask, uint32_t missing) {
    CW_DCHECK(missing <= ask.missing);
    if (ask.is_counted) outstanding_ -= ask.missing - missing;
    ask.missing = missing;
  }

 private:
  Array<Ask> items_;
  Ask* free_ = nullptr;  // were used before
  size_t used_ = 0;
  uint32_t outstanding_ = 0;
};

}  // namespace cw::policy
