#include "tests/sim/stage.h"

#include <algorithm>
#include <cstdio>

namespace cw::sim {
namespace {

std::string sentence(const Checker& checker, const std::string& verdict) {
  return std::string(checker.name()) + ": " + verdict;
}

}  // namespace

Stage::Stage(SimNetwork& network, uint64_t seed) : network_(network) {
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
}

StageEnd Stage::run_until(const std::function<bool()>& is_reached, Instant deadline) {
  while (true) {
    const Instant now = network_.now();
    ++turn_count_;
    for (Actor* actor : actors_) actor->turn(now);
    for (Checker* checker : checkers_) checker->on_turn(now);
    if (complaint()) return StageEnd::Complaint;
    if (is_reached()) return StageEnd::Reached;
    const Instant next = next_event();
    if (next == Instant::never()) return StageEnd::Quiet;
    if (now >= deadline) return StageEnd::Deadline;
    network_.advance_to(std::min(std::max(next, now + step_min), deadline));
  }
}

Instant Stage::next_event() const {
  Instant next = network_.next_event();
  for (const Actor* actor : actors_) next = std::min(next, actor->next_deadline());
  return next;
}

std::optional<std::string> Stage::complaint() const {
  for (const Checker* checker : checkers_) {
    if (const auto verdict = checker->verdict()) return sentence(*checker, *verdict);
  }
  return std::nullopt;
}

std::optional<std::string> Stage::final_complaint() const {
  if (const auto earlier = complaint()) return earlier;
  for (const Checker* checker : checkers_) {
    if (const auto verdict = checker->final_verdict()) return sentence(*checker, *verdict);
  }
  return std::nullopt;
}

}  // namespace cw::sim
