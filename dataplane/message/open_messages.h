// Messages that are not over, at each end.
#pragma once

#include <array>
#include <cstdint>

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
  uint32_t sent = 0;      ///< slots that were given to the line
  uint32_t in_place = 0;  ///< as its receiver has told
  uint32_t window = 0;    ///< slots that may be ahead of these
  uint32_t next = 0;      ///< that waits for the same key
  uint64_t cookie = 0, bytes = 0;
  Instant deadline, probe_due, ended_at;
  Duration probe_wait;
  TimerHandle timer;
};

/// Slots that are to be asked for.
struct AskedRun {
  uint32_t first = 0, count = 0;
};

/// At its receiver.
struct Incoming {
  static constexpr size_t runs_max = 16;

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
  uint32_t placed = 0, duplicates = 0, lowest = 0, most = 0;  ///< of this burst
  uint32_t clock_us = 0;                                      ///< of the datagram that came last
  Instant clock_at;                                           ///< zero: none has
  uint64_t cookie = 0, bytes = 0;
  Instant deadline;
  TimerHandle timer;
  size_t run_count = 0;
  std::array<AskedRun, runs_max> runs;
};

}  // namespace cw::group
