// Departures of a turn, gathered into ranges: a policy hears of 64 packets in one fact, not in 64.
// One run per path, because slots that take turns over the paths are one row with a stride on each.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "dataplane/base/limits.h"
#include "dataplane/base/serial.h"
#include "dataplane/base/units.h"

namespace cw::sdr {

struct SentRun {
  uint32_t place = 0;
  uint16_t life = 0;
  uint16_t kind = 0;
  uint32_t first = 0, count = 0, stride = 1;
  Psn psn_first;
  Instant departed;

  /// Takes one more slot into the run, or says that it does not continue it.
  bool try_extend(const SentRun& one) {
    // Neighbours are not compared one after the other: GCC 12 would read them as one, wider than
    // they have just been written.
    if (one.place != place || one.psn_first != psn_first + count || one.life != life) return false;
    const uint32_t step = count == 1 && one.first > first ? one.first - first : stride;
    if (one.first != first + step * count || one.kind != kind) return false;
    stride = step;
    ++count;
    departed = one.departed;
    return true;
  }
};

class SentRuns {
 public:
  /// Adds one departed slot. `flush` is called with the run of that path that had to end for it.
  void add(uint16_t path, const SentRun& one, auto&& flush) {
    SentRun& run = runs_[path];
    if (run.count > 0 && run.try_extend(one)) return;
    if (run.count > 0) flush(path, run);
    run = one;
    open_ |= uint32_t{1} << path;
  }
  void flush_all(auto&& flush) {
    while (open_ != 0) {
      const auto path = static_cast<uint16_t>(std::countr_zero(open_));
      open_ &= open_ - 1;
      const SentRun run = runs_[path];
      runs_[path].count = 0;
      flush(path, run);
    }
  }
  void clear() {
    runs_.fill({});
    open_ = 0;
  }

 private:
  std::array<SentRun, limits::paths_max> runs_{};
  uint32_t open_ = 0;  // paths with a run
  static_assert(limits::paths_max <= 32);
};

}  // namespace cw::sdr
