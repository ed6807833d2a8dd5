// What the parts of the core cost: nanoseconds per timer armed and fired, per packet paced, per PSN
// tracked, per reading of the clock.
#include <benchmark/benchmark.h>

#include <vector>

#include "dataplane/base/prng.h"
#include "dataplane/core/path/psn_tracker.h"
#include "dataplane/core/rate/pacer.h"
#include "dataplane/core/timer_wheel.h"
#include "dataplane/core/turn/clock.h"

namespace cw {
namespace {
using namespace literals;

// One timer armed and one fired per iteration, with `range` timers always armed, 0 to 50 ms ahead.
void timer_arm_and_fire(benchmark::State& state) {
  const auto armed = static_cast<size_t>(state.range(0));
  TimerWheel wheel(armed + 1);
  Prng prng(1);
  Instant now;
  const auto arm = [&] { wheel.arm(0, now + Duration::from_ns(int64_t(prng.below(50'000'000)))); };
  for (size_t i = 0; i < armed; ++i) arm();
  uint64_t due[64];
  for (auto _ : state) {
    size_t count = 0;
    while ((count = wheel.advance(now, due)) == 0) now = std::max(now, wheel.next_due());
    for (size_t i = 0; i < count; ++i) arm();
    state.SetItemsProcessed(state.items_processed() + static_cast<int64_t>(count));
  }
}
BENCHMARK(timer_arm_and_fire)->Arg(1'000)->Arg(100'000);

void timer_arm_and_cancel(benchmark::State& state) {
  TimerWheel wheel(1000);
  Prng prng(1);
  for (auto _ : state) {
    wheel.cancel(wheel.arm(0, Instant::from_ns(int64_t(prng.below(50'000'000)))));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(timer_arm_and_cancel);

// Bursts of 32 small packets of one class, at a line rate and an overhead budget that never hold
// them.
void pacer_push_and_depart(benchmark::State& state) {
  const auto priority = static_cast<Priority>(state.range(0));
  Pacer pacer({.rate = 400_Gbps, .horizon = 1_ms, .overhead_ppm = 1'000'000});
  Departed departed[32];
  uint64_t expired[32];
  Instant now;
  for (auto _ : state) {
    for (uint64_t i = 0; i < 32; ++i) {
      const Instant drop_after = now + 10_ms;
      pacer.try_push({.cookie = i, .bytes = 64, .priority = priority, .drop_after = drop_after},
                     now);
    }
    benchmark::DoNotOptimize(pacer.depart(now, departed, expired));
    now += 3_us;
  }
  state.SetItemsProcessed(static_cast<int64_t>(pacer.departed_count()));
}
BENCHMARK(pacer_push_and_depart)
    ->ArgName("priority")
    ->Arg(int(Priority::Data))
    ->Arg(int(Priority::Resend));

// PSNs in order but for `range` lost of 1000.
void psn_tracked(benchmark::State& state) {
  PsnTracker tracker;
  Ring<LostRange> lost(256);
  Prng prng(1);
  std::vector<Psn> psns;
  for (uint64_t i = 0; psns.size() < 1 << 16; ++i) {
    if (!prng.chance(static_cast<double>(state.range(0)) / 1000)) psns.push_back(Psn(i));
  }
  Instant now;
  size_t next = 0;
  for (auto _ : state) {
    if (next == psns.size()) {
      tracker.restart(psns[0]);
      next = 0;
    }
    for (const size_t end = next + 32; next < end; ++next) {
      benchmark::DoNotOptimize(tracker.on_arrival(psns[next], now, lost));
    }
    tracker.settle(now, 100_us, lost);
    lost.clear();
    now += 2_us;
  }
  state.SetItemsProcessed(state.iterations() * 32);
}
BENCHMARK(psn_tracked)->ArgName("lost_per_mille")->Arg(0)->Arg(10);

template <class C>
void clock_read(benchmark::State& state) {
  const C clock;
  for (auto _ : state) benchmark::DoNotOptimize(clock.read());
}
BENCHMARK(clock_read<MonotonicClock>);
BENCHMARK(clock_read<MachineClock>);

}  // namespace
}  // namespace cw

BENCHMARK_MAIN();
