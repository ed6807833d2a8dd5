// How far the demo is, for whoever waits for it.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>

#include "tests/lab/program.h"

namespace cw::demo {

/// One line per step on standard error; on a terminal the last one moves.
class Steps {
 public:
  void begin(const std::string& what) {
    what_ = what;
    start_ = lab::Time::now();
    if (is_terminal_) show("...");
  }
  void show(const std::string& how_far) const {
    if (is_terminal_) std::fprintf(stderr, "\r\x1b[K%s  %s", what_.c_str(), how_far.c_str());
  }
  void end(const std::string& result) const {
    const double took = std::chrono::duration<double>(lab::Time::now() - start_).count();
    std::fprintf(stderr, "%s%-34s %s (%.0f s)\n", is_terminal_ ? "\r\x1b[K" : "", what_.c_str(),
                 result.c_str(), took);
  }

 private:
  bool is_terminal_ = isatty(STDERR_FILENO) == 1;
  std::string what_;
  lab::Time::time_point start_;
};

}  // namespace cw::demo
