#include "dataplane/core/turn/clock.h"

#include <time.h>

#include <algorithm>

#include "dataplane/base/assert.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace cw {
namespace {

int64_t monotonic_ns() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

#if defined(__x86_64__)
uint64_t read_ticks() { return __rdtsc(); }

// CPUID leaf 0x80000007, EDX bit 8: the counter runs at one rate in every power state.
bool has_steady_ticks() {
  unsigned a, b, c, d;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d >> 8 & 1) != 0;
}
#else
uint64_t read_ticks() { return 0; }
bool has_steady_ticks() { return false; }
#endif

struct Reading {
  uint64_t ticks;
  int64_t ns;
};

// Both clocks at one moment: of several tries, the one that an interrupt disturbed least.
Reading read_both() {
  Reading best{};
  uint64_t best_spread = UINT64_MAX;
  for (int i = 0; i < 16; ++i) {
    const uint64_t before = read_ticks();
    const int64_t ns = monotonic_ns();
    const uint64_t spread = read_ticks() - before;
    if (spread >= best_spread) continue;
    best_spread = spread;
    best = {before + spread / 2, ns};
  }
  return best;
}

}  // namespace

Instant MonotonicClock::read() const { return Instant::from_ns(monotonic_ns()); }

MachineClock::MachineClock() {
  if (!has_steady_ticks()) return;
  const Reading first = read_both();
  const timespec pause{0, 20'000'000};
  nanosleep(&pause, nullptr);
  const Reading final = read_both();
  if (final.ticks <= first.ticks || final.ns <= first.ns) return;
  const auto scaled_ns = static_cast<unsigned __int128>(final.ns - first.ns) << 32;
  ns_per_tick_ = static_cast<uint64_t>(scaled_ns / (final.ticks - first.ticks));
  tick_base_ = final.ticks;
  ns_base_ = final.ns;
}

Instant MachineClock::read() const {
  if (ns_per_tick_ == 0) return Instant::from_ns(monotonic_ns());
  // Signed: another processor's counter may be a little behind the one that was calibrated.
  const auto ticks = static_cast<int64_t>(read_ticks() - tick_base_);
  const auto ns = static_cast<__int128>(ticks) * static_cast<int64_t>(ns_per_tick_) >> 32;
  return Instant::from_ns(ns_base_ + static_cast<int64_t>(ns));
}

void VirtualClock::advance_to(Instant now) {
  CW_ASSERT(now >= now_);
  now_ = now;
}

Duration GapDetector::observe(Instant now) {
  // A sleep without an end is one that anything may end.
  const Duration over = now > expected_ ? now - expected_ - turn_max : Duration();
  const bool is_gap = has_reading_ && over > Duration();
  has_reading_ = true;
  expected_ = now;
  return is_gap ? over : Duration();
}

}  // namespace cw
