// Messages in blocks that meet another link each: what one warm stream makes of a link that turns
// bad and good again. The link is causeway-wan's, and is told between two messages, when nothing is
// in flight.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/base/result.h"

namespace cw::perf {

/// What was asked for. Without settings there are no phases.
struct PhaseOptions {
  std::string wan;                    ///< the socket of causeway-wan --control
  std::vector<std::string> settings;  ///< in turn, as `causeway-wan set` takes them
  uint64_t messages = 100;            ///< in a row under one setting
  uint64_t warm_up = 0;               ///< messages before the first phase, which count for none

  bool has_any() const { return !settings.empty(); }
};

class Phases {
 public:
  explicit Phases(PhaseOptions options) : options_(std::move(options)) {}

  const PhaseOptions& options() const { return options_; }
  /// Whether message `index` is the first of a block: it waits until nothing is in flight.
  bool begins_at(uint64_t index) const;
  /// Message `index` belongs to that setting; -1 in the warm-up.
  int of(uint64_t index) const;
  /// Changes the link for message `index`. Waits for its answer: a fraction of a millisecond.
  /// Errors: those of the link.
  Result<void> enter(uint64_t index) const;

 private:
  PhaseOptions options_;
};

}  // namespace cw::perf
