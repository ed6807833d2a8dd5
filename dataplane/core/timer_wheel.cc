#include "dataplane/core/timer_wheel.h"

#include <algorithm>
#include <bit>

#include "dataplane/base/assert.h"

namespace cw {

TimerWheel::TimerWheel(size_t capacity, Instant start, Duration resolution, TableMemory* memory)
    : capacity_(capacity),
      origin_ns_(start.ns()),
      slots_(size_t{level_count} * slots_per_level, memory),
      timers_(capacity, memory) {
  CW_ASSERT(capacity > 0 && capacity <= size_t{1} << 31);
  CW_ASSERT(resolution.ns() > 0 && start.ns() >= 0);
  tick_shift_ = static_cast<unsigned>(std::bit_width(static_cast<uint64_t>(resolution.ns() - 1)));
  // Finer ticks would need more bits for the far future than nine levels have.
  tick_shift_ = std::max(tick_shift_, 63 - level_bits * level_count);
}

void TimerWheel::rest() {
  CW_ASSERT(armed_count_ == 0);
  free_first_ = none;
  unused_ = 0;
}

void TimerWheel::restart(Instant start) {
  CW_ASSERT(start.ns() >= 0);
  for (uint32_t index = 0; index < unused_; ++index) {
    if (timers_[index].slot == slot_free) continue;
    unlink(index);
    release(index);
  }
  origin_ns_ = start.ns();
  tick_ = 0;
}

uint64_t TimerWheel::tick_at_or_after(Instant at) const {
  if (at.ns() <= origin_ns_) return 0;
  const uint64_t ns = static_cast<uint64_t>(at.ns()) - static_cast<uint64_t>(origin_ns_);
  const uint64_t last = (uint64_t{1} << (level_bits * level_count)) - 1;
  return std::min(((ns - 1) >> tick_shift_) + 1, last);
}

uint64_t TimerWheel::tick_at_or_before(Instant now) const {
  if (now.ns() <= origin_ns_) return 0;
  return (static_cast<uint64_t>(now.ns()) - static_cast<uint64_t>(origin_ns_)) >> tick_shift_;
}

TimerHandle TimerWheel::arm(uint64_t cookie, Instant at) {
  const bool is_first = free_first_ == none;
  if (is_first && unused_ == capacity_) return {};
  const uint32_t index = is_first ? unused_++ : free_first_;
  Timer& timer = timers_[index];
  if (!is_first) free_first_ = timer.next;
  timer.cookie = cookie;
  timer.tick = std::max(tick_at_or_after(at), tick_);
  link(index);
  ++armed_count_;
  return {index, timer.generation};
}

bool TimerWheel::cancel(TimerHandle handle) {
  if (handle.index >= unused_) return false;
  const Timer& timer = timers_[handle.index];
  if (timer.slot == slot_free || timer.generation != handle.generation) return false;
  unlink(handle.index);
  release(handle.index);
  return true;
}

size_t TimerWheel::advance(Instant now, std::span<uint64_t> due) {
  const uint64_t now_tick = tick_at_or_before(now);
  size_t count = 0;
  while (armed_count_ > 0) {
    const unsigned slot = first_slot();
    const uint64_t start = start_tick(slot);
    if (start > now_tick) break;
    if (count == due.size()) return count;
    tick_ = std::max(tick_, start);
    if (slot >= slots_per_level) {
      cascade(slot);
      continue;
    }
    const uint32_t index = slots_[slot].first;
    due[count++] = timers_[index].cookie;
    unlink(index);
    release(index);
  }
  tick_ = std::max(tick_, now_tick);
  return count;
}

Instant TimerWheel::first_due() const {
  const uint64_t ns = slots_[first_slot()].tick_min << tick_shift_;
  const uint64_t room = static_cast<uint64_t>(Instant::never().ns() - origin_ns_);
  return ns >= room ? Instant::never() : Instant::from_ns(origin_ns_ + static_cast<int64_t>(ns));
}

// Puts a timer where the highest bit in which its tick differs from the current one says.
void TimerWheel::link(uint32_t index) {
  Timer& timer = timers_[index];
  CW_DCHECK(timer.tick >= tick_);
  const uint64_t differing = timer.tick ^ tick_;
  const unsigned level =
      differing == 0 ? 0 : static_cast<unsigned>(std::bit_width(differing) - 1) / level_bits;
  const unsigned place = (timer.tick >> (level_bits * level)) & (slots_per_level - 1);
  timer.slot = static_cast<uint16_t>(level * slots_per_level + place);

  Slot& slot = slots_[timer.slot];
  if ((occupied_[level] >> place & 1) == 0) slot = {.tick_min = timer.tick};
  timer.next = none;
  timer.previous = slot.final;
  slot.tick_min = std::min(slot.tick_min, timer.tick);
  (slot.first == none ? slot.first : timers_[slot.final].next) = index;
  slot.final = index;
  occupied_[level] |= uint64_t{1} << place;
}

void TimerWheel::unlink(uint32_t index) {
  const Timer& timer = timers_[index];
  Slot& slot = slots_[timer.slot];
  (timer.previous == none ? slot.first : timers_[timer.previous].next) = timer.next;
  (timer.next == none ? slot.final : timers_[timer.next].previous) = timer.previous;
  if (slot.first != none) return;
  occupied_[timer.slot / slots_per_level] &= ~(uint64_t{1} << (timer.slot % slots_per_level));
}

void TimerWheel::release(uint32_t index) {
  Timer& timer = timers_[index];
  timer.slot = slot_free;
  ++timer.generation;
  timer.next = free_first_;
  free_first_ = index;
  --armed_count_;
}

// The slot with the earliest timers: slots of a level never hold earlier ticks than those of the
// levels below, and within a level no occupied slot lies behind the current tick.
unsigned TimerWheel::first_slot() const {
  unsigned level = 0;
  while (occupied_[level] == 0) ++level;
  CW_DCHECK(level < level_count);
  return level * slots_per_level + static_cast<unsigned>(std::countr_zero(occupied_[level]));
}

uint64_t TimerWheel::start_tick(unsigned slot) const {
  const unsigned shift = level_bits * (slot / slots_per_level);
  const uint64_t above = tick_ >> shift >> level_bits << level_bits;
  return (above | slot % slots_per_level) << shift;
}

// Redistributes a slot whose time has begun over the levels below it.
void TimerWheel::cascade(unsigned slot) {
  uint32_t index = slots_[slot].first;
  occupied_[slot / slots_per_level] &= ~(uint64_t{1} << (slot % slots_per_level));
  while (index != none) {
    const uint32_t next = timers_[index].next;
    link(index);
    index = next;
  }
}

}  // namespace cw
