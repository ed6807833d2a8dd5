// How the programs of this folder begin and end that run others in network namespaces.
#pragma once

#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "control/command_line/command_line.h"
#include "tests/lab/space.h"

namespace cw::bench {

/// Reads the command line and runs; the exit status: 0, 2 a mistake in the arguments, 3 it failed,
/// 77 this machine lacks what namespaces take.
template <class Run>
int run_in_lab(CommandLine& app, const char* name, std::span<char* const> words, const Run& run) {
  constexpr int exit_refused = 2, exit_failed = 3, exit_skipped = 77;
  const auto parsed = app.parse(std::vector<const char*>(words.begin(), words.end()));
  if (!parsed) return std::fprintf(stderr, "%s\n", parsed.error().sentence.c_str()), exit_refused;
  if (!parsed->empty()) return std::printf("%s", parsed->c_str()), 0;
  if (const std::string why = lab::obstacle(); !why.empty()) {
    return std::printf("skipped: %s\n", why.c_str()), exit_skipped;
  }
  try {
    run();
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "%s: %s\n", name, error.what()), exit_failed;
  }
  return 0;
}

}  // namespace cw::bench
