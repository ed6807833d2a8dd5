// How a member gets a message out of another one: it asks for its slots, run by run, so many ahead
// that the line stays busy and no more, so that whoever sends to it never sends more than it can
// take. What is lost is asked for again.
//
//   slot   0 ................ asked .............. all
//          | open asks, in order  | not asked for yet |
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "dataplane/base/units.h"
#include "dataplane/datagram/landing.h"
#include "dataplane/wire/group/records.h"

namespace cw::group {

/// How long asks wait.
struct PullTimes {
  Duration answer;   ///< a round trip, and what is ahead of the answer
  Duration reorder;  ///< by how much a packet may overtake another
};

/// One message from one member. Thread: one. Nothing allocates.
class Pull {
 public:
  static constexpr size_t asks_max = 8;
  static constexpr Duration wait_max = Duration::from_ms(64);

  /// `landing` is where the message comes to lie, and is open. Each ask is for `ask_slots` at most.
  void begin(uint16_t from, const Landing& landing, uint32_t ask_slots);
  void end() { landing_ = nullptr; }
  bool is_begun() const { return landing_ != nullptr; }
  uint16_t from() const { return from_; }

  /// Slots that were asked for and are not here.
  uint32_t outstanding() const { return asked_ - here(); }
  bool is_all_asked() const { return asked_ == landing_->slots().count(); }
  bool is_complete() const { return landing_->missing_count() == 0; }

  /// The next slots, `room` at most, are to be asked for; nothing: there is no room, or none are
  /// left. Returns the number of the ask.
  std::optional<size_t> next(uint32_t room, const PullTimes& times, Instant now);
  /// An ask whose time is over: it is to be said again.
  std::optional<size_t> overdue(const PullTimes& times, Instant now);
  /// After slots have come, of which `newest` is the last in order. Returns how long the first
  /// answer took, if that is known by it.
  std::optional<Duration> settle(uint32_t newest, const PullTimes& times, Instant now);
  Instant due() const;

  /// What an ask lacks, in runs; returns how many. None: it has been answered.
  size_t runs_of(size_t ask, std::span<Run> runs) const;
  uint32_t missing_of(size_t ask) const { return missing_in(asks_[ask]); }
  /// How often it has been said, and since when.
  uint32_t tries(size_t ask) const { return asks_[ask].tries; }
  Instant first(size_t ask) const { return asks_[ask].first_said; }
  void on_gap(Duration gap);

 private:
  struct Ask {
    bool is_open = false;
    uint32_t first = 0, count = 0;
    uint32_t last = 0;  // that it lacked when it was said
    uint32_t tries = 0;
    Instant first_said, due;
  };
  uint32_t here() const { return landing_->placed_count(); }
  uint32_t missing_in(const Ask& ask) const {
    return landing_->bits().count_unset(ask.first, ask.count);
  }

  std::array<Ask, asks_max> asks_;
  const Landing* landing_ = nullptr;
  uint32_t asked_ = 0, ask_slots_ = 0;
  uint16_t from_ = 0;
  Instant timed_from_;  // when an ask was said with nothing ahead of it; zero: none
};

}  // namespace cw::group
