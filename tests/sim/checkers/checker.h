// A property of a whole run, watched while it goes on. A checker is told facts (each says which) or
// reads counters, keeps its first complaint as a sentence, and never stops the run itself: that is
// the stage's part (tests/sim/stage.h), which prints the seed with it.
#pragma once

#include <optional>
#include <string>

#include "dataplane/base/units.h"

namespace cw::sim {

class Checker {
 public:
  virtual ~Checker() = default;

  virtual const char* name() const = 0;
  /// The stage calls it once per turn, with the clock that all actors saw.
  virtual void on_turn(Instant) {}
  /// The first complaint so far, or nothing.
  virtual std::optional<std::string> verdict() const { return complaint_; }
  /// The same when the run is over: what is still unfinished now will stay so.
  virtual std::optional<std::string> final_verdict() const { return verdict(); }

 protected:
  void complain(std::string sentence) {
    if (!complaint_) complaint_ = std::move(sentence);
  }

 private:
  std::optional<std::string> complaint_;
};

}  // namespace cw::sim
