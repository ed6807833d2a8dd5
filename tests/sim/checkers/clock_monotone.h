// Time never goes back, for anyone.
#pragma once

#include <map>
#include <string>

#include "tests/sim/checkers/checker.h"

namespace cw::sim {

class ClockMonotone final : public Checker {
 public:
  const char* name() const override { return "clock monotone"; }

  /// `observer` saw the clock at `now`; observers are compared with themselves only.
  void observe(const std::string& observer, Instant now) {
    Instant& latest = latest_.try_emplace(observer, now).first->second;
    if (now < latest) {
      complain(observer + " saw " + std::to_string(now.ns()) + " ns after " +
               std::to_string(latest.ns()) + " ns");
    }
    latest = now;
  }
  void on_turn(Instant now) override { observe("the stage", now); }

 private:
  std::map<std::string, Instant> latest_;
};

}  // namespace cw::sim
