// Where time comes from: the machine, or the simulator. A worker reads its clock once per turn and
// after every wait; below that, time is an argument.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>

#include "dataplane/base/units.h"

namespace cw {

template <class T>
concept Clock = requires(const T& clock) {
  { clock.read() } -> std::same_as<Instant>;
};

/// CLOCK_MONOTONIC, through the vDSO: no system call. Thread: any.
class MonotonicClock {
 public:
  Instant read() const;
};

/// The time stamp counter, scaled to nanoseconds of CLOCK_MONOTONIC, where the processor says that
/// it is constant and never stops; CLOCK_MONOTONIC elsewhere. The two drift apart by what the
/// calibration missed, some parts per million: never mix their readings.
class MachineClock {
 public:
  /// Calibrates for 20 ms when the counter can be used.
  MachineClock();

  bool uses_tsc() const { return ns_per_tick_ != 0; }
  /// Thread: any. Readings never go back on one processor; two may differ by some nanoseconds.
  Instant read() const;

 private:
  uint64_t tick_base_ = 0;
  int64_t ns_base_ = 0;
  uint64_t ns_per_tick_ = 0;  // in units of 2^-32; 0: use the monotonic clock
};

/// Time that stands still until told otherwise.
class VirtualClock {
 public:
  explicit VirtualClock(Instant start = Instant()) : now_(start) {}

  Instant read() const { return now_; }
  void advance_to(Instant now);  ///< never back
  void advance_by(Duration time) { advance_to(now_ + time); }

 private:
  Instant now_;
};

static_assert(Clock<MonotonicClock> && Clock<MachineClock> && Clock<VirtualClock>);

/// Notices that this thread stood still (the processor was another's, a stopped virtual machine, a
/// suspended laptop, a debugger): more than `turn_max` passed between two readings although nobody
/// meant to sleep that long. What came meanwhile waits unread, so nothing is late for not having
/// been seen.
class GapDetector {
 public:
  /// The longest turn. Where all are longer, as under an emulator, it is what time goes on by.
  static constexpr Duration turn_max = Duration::from_ms(2);

  /// Takes each reading; returns what of the time since the last is a pause, by which timers are to
  /// be moved, or zero.
  Duration observe(Instant now);

  /// Tells that time until `wake` passes on purpose (a wait, a jump of the simulator).
  void sleeps_until(Instant wake) { expected_ = std::max(expected_, wake); }

 private:
  bool has_reading_ = false;
  Instant expected_;  // the last reading, or the end of the sleep that was announced
};

}  // namespace cw
