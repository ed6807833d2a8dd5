// Every message that was opened is finished, once; none that was not. Whoever may lose a message,
// as a sender that restarts, excuses it: it may then still be finished, once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "tests/sim/checkers/checker.h"

namespace cw::sim {

class ExactlyOnce final : public Checker {
 public:
  const char* name() const override { return "exactly once"; }

  void opened(uint64_t message) {
    if (!states_.emplace(message, State::Open).second) {
      complain("message " + std::to_string(message) + " was opened twice");
    }
    ++open_count_;
  }
  void finished(uint64_t message) {
    const auto found = states_.find(message);
    if (found == states_.end()) {
      complain("message " + std::to_string(message) + " was finished and never opened");
    } else if (found->second == State::Finished) {
      complain("message " + std::to_string(message) + " was finished twice");
    } else {
      open_count_ -= found->second == State::Open;
      found->second = State::Finished;
    }
  }
  void excused(uint64_t message) {
    State& state = states_.at(message);
    if (state != State::Open) return;
    state = State::Excused;
    --open_count_;
  }

  /// Whether any is neither finished nor excused.
  bool has_open() const { return open_count_ > 0; }
  std::optional<uint64_t> first_open() const {
    std::optional<uint64_t> first;
    for (const auto& [message, state] : states_) {
      if (state == State::Open && (!first || message < *first)) first = message;
    }
    return first;
  }

  std::optional<std::string> final_verdict() const override {
    if (verdict() || open_count_ == 0) return verdict();
    return std::to_string(open_count_) + " of " + std::to_string(states_.size()) +
           " messages were never finished";
  }

 private:
  enum class State : uint8_t { Open, Excused, Finished };

  std::unordered_map<uint64_t, State> states_;
  uint64_t open_count_ = 0;
};

}  // namespace cw::sim
