// How every way to measure ends, as --help tells.
#pragma once

#include <cstdio>
#include <string>

namespace cw::perf {

inline constexpr int exit_wrong = 1, exit_refused = 2, exit_failed = 3, exit_interrupted = 130;

inline void say(const std::string& sentence) {
  std::fprintf(stderr, "causeway-perf: %s\n", sentence.c_str());
}

}  // namespace cw::perf
