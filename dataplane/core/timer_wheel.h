// Timers by the million, cheap to arm and to cancel: a hierarchical timing wheel.
//
// Time is cut into ticks of one `resolution`. Level 0 has a slot per tick, each further level a
// slot per 64 slots of the level below. Nine levels reach past the end of time: no instant is too
// far.
//
//   level 2   |      slot = 4096 ticks      | ...
//   level 1   | slot = 64 ticks | ...            a timer moves down a level when its slot begins,
//   level 0   | tick | tick | ...                at most eight times in its life
//
// A timer lies in the lowest level whose slots still tell its tick from the current one, so empty
// time is skipped, however much of it passes: an advance costs by timers, not by time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/base/memory/table.h"
#include "dataplane/base/units.h"

namespace cw {

/// Names one armed timer. A handle outlives its timer harmlessly: the generation tells them apart.
struct TimerHandle {
  uint32_t index = UINT32_MAX;
  uint32_t generation = 0;

  bool is_none() const { return index == UINT32_MAX; }
  bool operator==(const TimerHandle&) const = default;
};

/// Thread: one. Cost: nothing allocates after construction.
class TimerWheel {
 public:
  /// Holds up to `capacity` timers (1 .. 2^31). `resolution` is rounded up to a power of two
  /// nanoseconds, 512 at least; see resolution(). `start` is not negative, and no `now` is earlier.
  /// In `memory`, as a Table says, of which a wheel without timers needs nothing.
  explicit TimerWheel(size_t capacity, Instant start = Instant(),
                      Duration resolution = Duration::from_us(8), TableMemory* memory = nullptr);

  /// Its memory is zero again; no timer is armed, and nobody has a handle of one that was.
  void rest();
  /// Disarms all timers, and counts ticks from `start` as if it had just been made.
  void restart(Instant start);

  size_t capacity() const { return capacity_; }
  size_t armed_count() const { return armed_count_; }
  Duration resolution() const { return Duration::from_ns(int64_t{1} << tick_shift_); }

  /// Starts a timer that hands back `cookie` at `at`: never before, and less than one resolution
  /// after, given that advance() is called then. A time already past is due at the next advance().
  /// Returns: the none handle when all timers are armed. Cost: O(1).
  TimerHandle arm(uint64_t cookie, Instant at);

  /// Stops a timer. False when it has fired or was cancelled before. Cost: O(1).
  bool cancel(TimerHandle handle);

  /// Fills `due` with the cookies of timers whose time has come, in the order of their ticks
  /// (within one tick the order is reproducible, no more); returns how many. When `due` is full,
  /// more may be waiting: they come with the next call, which may have the same `now`. `now` never
  /// goes back. Cost: O(1) per timer, plus its moves down the levels.
  size_t advance(Instant now, std::span<uint64_t> due);

  /// When advance() will next have something to hand out; never() when no timer is armed. Exact,
  /// except that after a cancel it may be too early (and then right again after advancing to it).
  /// Cost: O(1).
  Instant next_due() const { return armed_count_ == 0 ? Instant::never() : first_due(); }

 private:
  static constexpr unsigned level_bits = 6;
  static constexpr unsigned slots_per_level = 1u << level_bits;
  static constexpr unsigned level_count = 9;  // ticks of up to 54 bits
  static constexpr uint32_t none = UINT32_MAX;
  static constexpr uint16_t slot_free = UINT16_MAX;

  struct Timer {
    uint64_t cookie;
    uint64_t tick;
    uint32_t next, previous;  // in its slot, or `next` in the free list
    uint32_t generation;
    uint16_t slot;  // level * slots_per_level + place, or slot_free
  };
  static_assert(sizeof(Timer) == 32, "two timers per cache line");

  // Kept only while it is occupied.
  struct Slot {
    uint32_t first = none, final = none;
    uint64_t tick_min = 0;  // no timer of the slot is earlier
  };

  uint64_t tick_at_or_after(Instant at) const;
  uint64_t tick_at_or_before(Instant now) const;
  void link(uint32_t index);
  void unlink(uint32_t index);
  void release(uint32_t index);
  Instant first_due() const;
  unsigned first_slot() const;
  uint64_t start_tick(unsigned slot) const;
  void cascade(unsigned slot);

  size_t capacity_, armed_count_ = 0;
  unsigned tick_shift_;
  int64_t origin_ns_;                             // tick 0
  uint64_t tick_ = 0;                             // everything before it has fired
  uint32_t free_first_ = none;                    // of those that were armed once
  uint32_t unused_ = 0;                           // from here on none ever was
  std::array<uint64_t, level_count> occupied_{};  // one bit per slot
  Table<Slot> slots_;
  Table<Timer> timers_;
};

}  // namespace cw
