// Every message that was opened is finished, once; none that was not.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "tests/sim/checkers/checker.h"

namespace cw::sim {

class ExactlyOnce final : public Checker {
 public:
  const char* name() const override { return "exactly once"; }

  void opened(uint64_t message) {
    if (!is_finished_.emplace(message, false).second) {
      complain("message " + std::to_string(message) + " was opened twice");
    }
    ++open_count_;
  }
  void finished(uint64_t message) {
    const auto found = is_finished_.find(message);
    if (found == is_finished_.end()) {
      complain("message " + std::to_string(message) + " was finished and never opened");
    } else if (found->second) {
      complain("message " + std::to_string(message) + " was finished twice");
    } else {
      found->second = true;
      --open_count_;
    }
  }

  std::optional<std::string> final_verdict() const override {
    if (verdict() || open_count_ == 0) return verdict();
    return std::to_string(open_count_) + " of " + std::to_string(is_finished_.size()) +
           " messages were never finished";
  }

 private:
  std::unordered_map<uint64_t, bool> is_finished_;
  uint64_t open_count_ = 0;
};

}  // namespace cw::sim
