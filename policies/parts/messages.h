// Finds the state of an open message by its sequence. The state itself lives with the core; this is
// the index that notes and timers need, which know only the number.
//
// Sequences of open messages lie close together, so the low bits are nearly a perfect hash: one
// probe. Removal moves later entries back, so there are no tombstones and no decay.
#pragma once

#include <cstdint>

#include "policies/parts/array.h"

namespace cw::policy {

/// The record that the core keeps for the message of a fact; null where the fact has none.
template <class T, class Fact>
T* state_of(const Fact& fact) {
  return static_cast<T*>(fact.state);
}

template <class State>
class Messages {
 public:
  /// For at most `open_max` messages at once.
  explicit Messages(uint32_t open_max)
      : entries_(std::bit_ceil(size_t{open_max} * 2 + 1)), open_max_(open_max) {}
  /// For as many as the instance's stream has.
  explicit Messages(const cw_env& env)
      : entries_(env, std::bit_ceil(size_t{env.messages} * 2 + 1)), open_max_(env.messages) {}

  bool is_ready() const { return entries_.is_ready(); }
  uint32_t count() const { return count_; }

  /// False when full or already there.
  bool try_add(uint32_t sequence, State* state) {
    if (count_ == open_max_ || find(sequence) != nullptr) return false;
    size_t at = home(sequence);
    while (entries_[at].state != nullptr) at = next(at);
    entries_[at] = {sequence, state};
    ++count_;
    return true;
  }
  /// Null when no such message is open.
  State* find(uint32_t sequence) const {
    for (size_t at = home(sequence); entries_[at].state != nullptr; at = next(at)) {
      if (entries_[at].sequence == sequence) return entries_[at].state;
    }
    return nullptr;
  }
  void remove(uint32_t sequence) {
    size_t hole = home(sequence);
    while (entries_[hole].state != nullptr && entries_[hole].sequence != sequence)
      hole = next(hole);
    if (entries_[hole].state == nullptr) return;
    entries_[hole].state = nullptr;
    --count_;
    for (size_t at = next(hole); entries_[at].state != nullptr; at = next(at)) {
      // An entry may fill the hole unless its home lies after the hole.
      const size_t mask = entries_.count() - 1;
      const bool may_move = ((at - home(entries_[at].sequence)) & mask) >= ((at - hole) & mask);
      if (!may_move) continue;
      entries_[hole] = entries_[at];
      entries_[at].state = nullptr;
      hole = at;
    }
  }
  /// Visits every open message, in no particular order. Cost: the whole table; for rare events.
  template <class Action>
  void for_each(Action&& action) {
    for (size_t at = 0; at < entries_.count(); ++at) {
      if (entries_[at].state != nullptr) action(*entries_[at].state);
    }
  }

 private:
  struct Entry {
    uint32_t sequence = 0;
    State* state = nullptr;
  };
  size_t home(uint32_t sequence) const { return sequence & (entries_.count() - 1); }
  size_t next(size_t at) const { return (at + 1) & (entries_.count() - 1); }

  Array<Entry> entries_;
  uint32_t open_max_;
  uint32_t count_ = 0;
};

}  // namespace cw::policy
