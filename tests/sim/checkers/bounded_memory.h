// After the warm-up nothing grows: neither the gauges that components report (packets lent, slots
// in use) nor the heap of code that must not allocate (heap_watch.h makes a gauge of that).
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/checkers/checker.h"

namespace cw::sim {

class BoundedMemory final : public Checker {
 public:
  const char* name() const override { return "bounded memory"; }

  /// `slack` is how far the gauge may rise above the most that the warm-up saw.
  void add_gauge(std::string what, std::function<uint64_t()> read, uint64_t slack = 0) {
    gauges_.push_back({std::move(what), std::move(read), slack, 0});
  }
  /// Long enough to have seen the ordinary peaks.
  void warm_up_ends() { is_warm_ = true; }

  void on_turn(Instant now) override {
    for (Gauge& gauge : gauges_) {
      const uint64_t value = gauge.read();
      if (!is_warm_) {
        gauge.most = std::max(gauge.most, value);
      } else if (value > gauge.most + gauge.slack) {
        complain(gauge.what + " grew to " + std::to_string(value) + " at " +
                 std::to_string(now.ns()) + " ns; the warm-up needed " +
                 std::to_string(gauge.most));
      }
    }
  }
  std::optional<std::string> final_verdict() const override {
    if (!is_warm_) return "the warm-up never ended, so nothing was checked";
    return verdict();
  }

 private:
  struct Gauge {
    std::string what;
    std::function<uint64_t()> read;
    uint64_t slack;
    uint64_t most;
  };
  std::vector<Gauge> gauges_;
  bool is_warm_ = false;
};

}  // namespace cw::sim
