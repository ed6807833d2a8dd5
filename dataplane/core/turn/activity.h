// Which members of a row have something to do, so that a turn costs what those cost and not what
// there are: 64 peers of which one is busy, as much as one.
//
//   awake --nothing to do, and nothing happened since it was last asked--> asleep until its instant
//     ^                                                                          |
//     '------------- something happens to it, or its instant comes --------------'
//
// A member stays awake for a turn more than it has reason to: whoever looks at its row elsewhere in
// the turn has then seen what happened.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "dataplane/base/assert.h"
#include "dataplane/base/limits.h"
#include "dataplane/base/units.h"

namespace cw {

/// Thread: one. Nothing allocates.
class Activity {
 public:
  static constexpr size_t members_max = limits::peers_max;
  static_assert(members_max <= 64);

  /// What those hold to whom it happens; one of no row does nothing. As long as its row is not
  /// moved. Cost: a store.
  class Wake {
   public:
    Wake() = default;
    void operator()() const {
      if (fresh_ != nullptr) *fresh_ |= bit_;
    }

   private:
    friend class Activity;
    Wake(uint64_t& fresh, uint64_t bit) : fresh_(&fresh), bit_(bit) {}

    uint64_t* fresh_ = nullptr;
    uint64_t bit_ = 0;
  };

  Activity() = default;
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;

  /// One more, awake; returns its number. Before the first turn.
  size_t add() {
    const auto member = static_cast<size_t>(std::popcount(members_));
    CW_ASSERT(member < members_max);
    members_ |= bit_of(member);
    wake(member);
    return member;
  }
  Wake wake_of(size_t member) { return {fresh_, bit_of(member)}; }
  void wake(size_t member) { fresh_ |= bit_of(member); }
  void wake_all() { fresh_ = members_; }

  /// A turn begins: those are asked from now on who were woken, or whose instant has come.
  void begin_turn(Instant now) {
    if (earliest_ <= now) wake_due(now);
    was_fresh_ = fresh_;
    awake_ |= fresh_;
    fresh_ = 0;
  }
  /// Who is awake does not fall asleep if anything happened since the turn before, or in this one.
  bool may_sleep(size_t member) const { return ((was_fresh_ | fresh_) & bit_of(member)) == 0; }
  void rest_until(size_t member, Instant due) {
    awake_ &= ~bit_of(member);
    due_[member] = due;
    earliest_ = std::min(earliest_, due);
  }

  /// One bit for each that is awake, or was woken since the turn began.
  uint64_t awake() const { return awake_ | fresh_; }
  /// Calls `act` with the number of each of them, in their order.
  template <class Act>
  void for_awake(Act&& act) const {
    for_each(awake(), act);
  }
  template <class Act>
  static void for_each(uint64_t members, Act&& act) {
    for (; members != 0; members &= members - 1)
      act(static_cast<size_t>(std::countr_zero(members)));
  }
  /// Of those that are asleep. Not for the hot path.
  Instant next_due() const {
    Instant due = Instant::never();
    for_each(members_ & ~awake(), [&](size_t i) { due = std::min(due, due_[i]); });
    return due;
  }

 private:
  static uint64_t bit_of(size_t member) { return uint64_t{1} << member; }
  void wake_due(Instant now) {
    earliest_ = Instant::never();
    for_each(members_ & ~awake_, [&](size_t i) {
      if (due_[i] <= now) {
        wake(i);
      } else {
        earliest_ = std::min(earliest_, due_[i]);
      }
    });
  }

  uint64_t members_ = 0, awake_ = 0, fresh_ = 0, was_fresh_ = 0;
  Instant earliest_ = Instant::never();  // of those asleep, or before it
  std::array<Instant, members_max> due_{};
};

}  // namespace cw
