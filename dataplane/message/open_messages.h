// Messages that are not over, at each end.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "dataplane/base/limits.h"
#include "dataplane/base/units.h"
#include "dataplane/core/timer_wheel.h"
#include "dataplane/wire/group/records.h"

namespace cw::group {

/// At its source.
struct Outgoing {
  enum class Stage : uint8_t {
    Free,
    Waiting,  ///< for the key of its receiver
    Sending,
    Leaving,  ///< over, but packets name its memory
  };
  Stage stage = Stage::Free;
  bool is_listed = false;                          ///< among those that may send
  bool is_whole = false, is_of_other_end = false;  ///< leaving
  Reason reason = Reason::Cancelled;
  uint16_t to = 0;
  Step step;
  uint32_t message = 0, generation = 0;
  uint32_t slots = 0;
  uint32_t sent = 0;           ///< slots that were given to the line
  uint32_t in_place = 0;       ///< as its receiver has told
  uint32_t window = 0;         ///< slots that may be ahead of these
  uint32_t next = 0;           ///< that waits for the same key
  uint16_t answered = 0;       ///< the last FETCH whose answers are at the line
  uint16_t answered_left = 0;  ///< and have left
  uint64_t cookie = 0, bytes = 0;
  Instant deadline, probe_due, armed_for, ended_at;
  Duration probe_wait;
  TimerHandle timer;
};

static_assert(sizeof(Outgoing) == 112);

/// Slots that are to be asked for.
struct AskedRun {
  uint32_t first = 0, count = 0;
};

/// Of one message, in the order of asking; they lie in an AskedPool.
struct AskedRuns {
  static constexpr uint32_t none = UINT32_MAX;
  uint32_t first = none, last = none, count = 0;
};

/// The runs of all messages. Thread: one. Allocates when made.
class AskedPool {
 public:
  explicit AskedPool(size_t runs_max) : nodes_(runs_max) {
    for (size_t i = 0; i < runs_max; ++i) {
      nodes_[i].next = i + 1 < runs_max ? static_cast<uint32_t>(i + 1) : AskedRuns::none;
    }
  }
  /// False: a message has as many as one FETCH holds, or all messages together too many.
  bool try_add(AskedRuns& runs, const AskedRun& run) {
    if (runs.count > 0 && run.first == nodes_[runs.last].run.first + nodes_[runs.last].run.count) {
      nodes_[runs.last].run.count += run.count;
      return true;
    }
    if (runs.count == limits::group_runs_max || free_ == AskedRuns::none) return false;
    const uint32_t place = free_;
    free_ = nodes_[place].next;
    nodes_[place] = {.run = run, .next = AskedRuns::none};
    (runs.count == 0 ? runs.first : nodes_[runs.last].next) = place;
    runs.last = place;
    ++runs.count;
    return true;
  }
  /// Fills `out`, of limits::group_runs_max, in the order of slots; returns how many. None is left.
  size_t take(AskedRuns& runs, std::span<AskedRun> out) {
    size_t count = 0;
    for (uint32_t at = runs.first; at != AskedRuns::none; at = nodes_[at].next) {
      out[count++] = nodes_[at].run;
    }
    drop(runs);
    std::ranges::sort(out.first(count), {}, &AskedRun::first);
    return count;
  }
  void drop(AskedRuns& runs) {
    if (runs.count > 0) nodes_[runs.last].next = std::exchange(free_, runs.first);
    runs = {};
  }

 private:
  struct Node {
    AskedRun run;
    uint32_t next = AskedRuns::none;
  };
  std::vector<Node> nodes_;
  uint32_t free_ = 0;
};

/// All slots from `first` on, below `end`.
struct SlotSpan {
  uint32_t first = UINT32_MAX, end = 0;

  bool is_empty() const { return first >= end; }
  void add(uint32_t slot) {
    first = std::min(first, slot);
    end = std::max(end, slot + 1);
  }
};

/// At its receiver.
struct Incoming {
  bool is_open = false;
  bool is_touched = false;                             ///< something has come in this burst
  bool wants_status = false;                           ///< and so its source waits to hear of it
  bool is_status_said = false, is_fetch_said = false;  ///< a word waits at the line
  bool is_given_up = false;                            ///< by its policy
  uint8_t path = 0;                                    ///< of what came last
  uint16_t from = 0;
  Step step;
  uint32_t message = 0, generation = 0;
  uint32_t step_place = 0;
  uint32_t slots = 0;
  uint32_t first_missing = 0, highest = 0;
  SlotSpan changed;         ///< in this burst
  uint32_t duplicates = 0;  ///< likewise
  uint32_t clock_us = 0;    ///< of the datagram that came last
  Instant clock_at;         ///< zero: none has
  uint64_t cookie = 0, bytes = 0;
  Instant deadline;
  TimerHandle timer;
  AskedRuns asked;
  uint16_t fetches = 0;  ///< the number of the last FETCH; 0: none
  std::array<Instant, 4> fetched_at;

  uint16_t note_fetch(Instant now) {
    if (++fetches == 0) ++fetches;
    fetched_at[fetches % fetched_at.size()] = now;
    return fetches;
  }
  /// Zero: none, or too long ago.
  Instant fetched_when(uint16_t number) const {
    const bool is_known =
        number != 0 && static_cast<uint16_t>(fetches - number) < fetched_at.size();
    return is_known ? fetched_at[number % fetched_at.size()] : Instant();
  }
};
static_assert(sizeof(Incoming) == 144);

}  // namespace cw::group
