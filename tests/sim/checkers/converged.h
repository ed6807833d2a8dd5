// After the faults have stopped, everything settles within a bounded time.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "tests/sim/checkers/checker.h"

namespace cw::sim {

class Converged final : public Checker {
 public:
  Converged(Duration within, std::function<bool()> is_settled)
      : within_(within), is_settled_(std::move(is_settled)) {}

  const char* name() const override { return "converged"; }

  void calm_begins(Instant now) { calm_since_ = now; }
  void on_turn(Instant now) override {
    if (!calm_since_ || settled_at_) return;
    if (is_settled_()) {
      settled_at_ = now;
    } else if (now - *calm_since_ > within_) {
      complain("not settled " + std::to_string((now - *calm_since_).ns()) +
               " ns after the faults had stopped");
    }
  }
  std::optional<std::string> final_verdict() const override {
    if (verdict() || settled_at_) return verdict();
    return calm_since_ ? "the run ended before it had settled" : "the calm never began";
  }
  std::optional<Instant> settled_at() const { return settled_at_; }

 private:
  Duration within_;
  std::function<bool()> is_settled_;
  std::optional<Instant> calm_since_, settled_at_;
};

}  // namespace cw::sim
