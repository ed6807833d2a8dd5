// A checker for what whoever knows best complains of: one sentence that must never have to be said.
#pragma once

#include <string>
#include <utility>

#include "tests/sim/checkers/checker.h"

namespace cw::sim {

class Promise final : public Checker {
 public:
  /// `name` outlives the checker.
  explicit Promise(const char* name) : name_(name) {}

  const char* name() const override { return name_; }
  void broken(std::string sentence) { complain(std::move(sentence)); }

 private:
  const char* name_;
};

}  // namespace cw::sim
