// What is wrong with a run: the first complaint of any checker of the swarm, with the checker's
// name.
#pragma once

#include <string>
#include <string_view>

#include "tests/sim/checkers/checker.h"

namespace cw::sim {

class Verdicts final : public Checker {
 public:
  const char* name() const override { return name_; }
  bool is_clean() const { return !verdict(); }
  /// Keeps the first; `checker` is a literal.
  void complain_of(const char* checker, std::string sentence) {
    if (!is_clean()) return;
    name_ = checker;
    complain(std::move(sentence));
  }

 private:
  const char* name_ = "";
};

}  // namespace cw::sim
