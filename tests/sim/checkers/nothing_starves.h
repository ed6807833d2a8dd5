// Whatever is opened is closed before it is too old, however busy its neighbours are.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_set>
#include <utility>

#include "tests/sim/checkers/checker.h"

namespace cw::sim {

class NothingStarves final : public Checker {
 public:
  explicit NothingStarves(Duration age_max) : age_max_(age_max) {}

  const char* name() const override { return "nothing starves"; }

  /// An item begins to wait; `now` never goes back.
  void opened(uint64_t item, Instant now) {
    open_.insert(item);
    by_age_.emplace_back(item, now);
  }
  void closed(uint64_t item) { open_.erase(item); }

  void on_turn(Instant now) override {
    while (!by_age_.empty() && !open_.contains(by_age_.front().first)) by_age_.pop_front();
    if (by_age_.empty() || now - by_age_.front().second <= age_max_) return;
    complain("item " + std::to_string(by_age_.front().first) + " had waited since " +
             std::to_string(by_age_.front().second.ns()) + " ns at " + std::to_string(now.ns()) +
             " ns");
  }

 private:
  Duration age_max_;
  std::unordered_set<uint64_t> open_;
  std::deque<std::pair<uint64_t, Instant>> by_age_;  // closed ones leave when they are the oldest
};

}  // namespace cw::sim
