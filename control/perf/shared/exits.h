// How every way to measure ends, as --help tells.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "control/command_line/told.h"

namespace cw::perf {

inline constexpr int exit_wrong = 1, exit_refused = 2, exit_failed = 3, exit_interrupted = 130;

inline std::vector<Ending> endings() {
  return {{0, "Measured."},
          {exit_wrong, "A byte was wrong."},
          {exit_refused, "A mistake in the arguments."},
          {exit_failed, "It could not be measured, or not to the end."},
          {exit_interrupted, "Ended by Ctrl-C, after the report on what was measured."}};
}

inline void say(const std::string& sentence) {
  std::fprintf(stderr, "causeway-perf: %s\n", sentence.c_str());
}

}  // namespace cw::perf
