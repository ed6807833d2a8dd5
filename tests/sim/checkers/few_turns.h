// Nobody asks for turns without end: a turn is for a packet, or for one of so many timers a second.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "tests/sim/checkers/checker.h"

namespace cw::sim {

class FewTurns final : public Checker {
 public:
  /// `packets` tells how many have been sent so far.
  FewTurns(uint64_t per_packet, uint64_t per_second, std::function<uint64_t()> packets)
      : per_packet_(per_packet), per_second_(per_second), packets_(std::move(packets)) {}

  const char* name() const override { return "few turns"; }
  void on_turn(Instant now) override {
    constexpr uint64_t turns_between = 4096;
    if (++turns_ % turns_between != 0) return;
    const auto seconds = static_cast<uint64_t>((now - Instant()).seconds()) + 1;
    const uint64_t packets = packets_();
    if (turns_ <= per_packet_ * packets + per_second_ * seconds) return;
    complain(std::to_string(turns_) + " turns for " + std::to_string(packets) + " packets in " +
             std::to_string(seconds) + " s");
  }
  uint64_t turn_count() const { return turns_; }

 private:
  uint64_t per_packet_, per_second_;
  std::function<uint64_t()> packets_;
  uint64_t turns_ = 0;
};

}  // namespace cw::sim
