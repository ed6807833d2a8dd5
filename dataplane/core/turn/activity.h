// Which members of a row have something to do, so that a turn costs what those cost and not what
// there are: a thousand links of which one is busy, as much as one.
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
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/base/assert.h"
#include "dataplane/base/units.h"
#include "dataplane/core/turn/member_set.h"

namespace cw {

/// Thread: one. Nothing allocates but add().
class Activity {
 public:
  static constexpr size_t members_max = MemberSet::members_max;

  /// What those hold to whom it happens; one of no row does nothing. As long as its row is not
  /// moved. Cost: two stores.
  class Wake {
   public:
    Wake() = default;
    void operator()() const {
      if (fresh_ != nullptr) fresh_->add(member_);
    }

   private:
    friend class Activity;
    Wake(MemberSet& fresh, size_t member) : fresh_(&fresh), member_(member) {}

    MemberSet* fresh_ = nullptr;
    size_t member_ = 0;
  };

  Activity() { earliest_of_.fill(Instant::never()); }
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;

  /// One more, awake; returns its number. Before the first turn.
  size_t add() {
    const size_t member = due_.size();
    CW_ASSERT(member < members_max);
    due_.push_back({});
    wake(member);
    return member;
  }
  Wake wake_of(size_t member) { return {fresh_, member}; }
  void wake(size_t member) { fresh_.add(member); }
  void wake_all() {
    for (size_t i = 0; i < due_.size(); ++i) fresh_.add(i);
  }

  /// A turn begins: those are asked from now on who were woken, or whose instant has come.
  void begin_turn(Instant now) {
    if (earliest_ <= now) wake_due(now);
    was_fresh_.clear();
    was_fresh_.add_all(fresh_);
    awake_.add_all(fresh_);
    fresh_.clear();
  }
  /// Who is awake does not fall asleep if anything happened since the turn before, or in this one.
  bool may_sleep(size_t member) const { return !was_fresh_.has(member) && !fresh_.has(member); }
  void rest_until(size_t member, Instant due) {
    awake_.remove(member);
    due_[member] = due;
    Instant& earliest = earliest_of_[member / MemberSet::word_bits];
    earliest = std::min(earliest, due);
    earliest_ = std::min(earliest_, due);
  }

  /// Who is awake, or was woken since the turn began.
  MemberSet awake() const {
    MemberSet all = awake_;
    all.add_all(fresh_);
    return all;
  }
  bool is_any_awake() const { return !awake_.is_empty() || !fresh_.is_empty(); }
  /// Calls `act` with the number of each of them, in their order; whom `act` wakes may be asked
  /// too.
  template <class Act>
  void for_awake(Act&& act) const {
    MemberSet::for_each_of(awake_, fresh_, act);
  }
  /// Of those that are asleep. Cost: some words of bits, and members of the one or two whose
  /// instants are near.
  Instant next_due() const {
    Instant due = Instant::never();
    for (size_t word = 0; word < words(); ++word) {
      if (earliest_of_[word] >= due) continue;
      for_asleep(word, fresh_.word(word), [&](size_t i) { due = std::min(due, due_[i]); });
    }
    return due;
  }

 private:
  size_t words() const { return (due_.size() + MemberSet::word_bits - 1) / MemberSet::word_bits; }
  /// Of one word, but those of `others`.
  template <class Act>
  void for_asleep(size_t word, uint64_t others, Act&& act) const {
    const size_t first = word * MemberSet::word_bits, count = due_.size() - first;
    const uint64_t members =
        count < MemberSet::word_bits ? (uint64_t{1} << count) - 1 : ~uint64_t{0};
    MemberSet::for_each_bit(members & ~awake_.word(word) & ~others,
                            [&](size_t place) { act(first + place); });
  }
  void wake_due(Instant now) {
    earliest_ = Instant::never();
    for (size_t word = 0; word < words(); ++word) {
      if (earliest_of_[word] <= now) wake_due_of(word, now);
      earliest_ = std::min(earliest_, earliest_of_[word]);
    }
  }
  void wake_due_of(size_t word, Instant now) {
    Instant earliest = Instant::never();
    for_asleep(word, 0, [&](size_t i) {
      if (due_[i] <= now) {
        wake(i);
      } else {
        earliest = std::min(earliest, due_[i]);
      }
    });
    earliest_of_[word] = earliest;
  }

  MemberSet awake_, fresh_, was_fresh_;
  std::vector<Instant> due_;  // by member
  // Of those asleep, or before it: of each word of them, and of all.
  std::array<Instant, MemberSet::words_max> earliest_of_{};
  Instant earliest_ = Instant::never();
};

}  // namespace cw
