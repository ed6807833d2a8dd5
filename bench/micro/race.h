// Work on several cores that begins at one moment, each core timed by itself.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

#include "dataplane/core/turn/clock.h"

namespace cw::bench {

/// May lie in memory that processes share.
struct Gate {
  static constexpr uint32_t cores_max = 64;
  std::atomic<uint32_t> ready{0}, open{0};
  std::array<std::atomic<int64_t>, cores_max> took_ns{};
};

inline int64_t now_ns() {
  static const MonotonicClock clock;
  return clock.read().ns();
}

/// One core's part: nothing begins before all are there.
template <class Act>
void race(Gate& gate, unsigned core, const Act& act) {
  gate.ready.fetch_add(1);
  while (gate.open.load() == 0) {
    // spin: to wake up takes its time
  }
  const int64_t begin = now_ns();
  act();
  gate.took_ns[core].store(now_ns() - begin);
}

inline void start(Gate& gate, uint32_t cores) {
  while (gate.ready.load() < cores) std::this_thread::yield();
  gate.open.store(1);
}

/// Millions a second, of all cores together, if each has done `count`.
inline double rate_of(const Gate& gate, uint32_t cores, size_t count) {
  double rate = 0;
  for (uint32_t core = 0; core < cores; ++core) {
    rate += 1e3 * static_cast<double>(count) / static_cast<double>(gate.took_ns[core].load());
  }
  return rate;
}

}  // namespace cw::bench
