// What a command prints, for tests that ask a stranger.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace cw::test {

struct Output {
  std::vector<std::string> lines;
  int status = -1;
};

inline Output output_of(const std::string& command) {
  Output output;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return output;
  char line[4096];
  while (std::fgets(line, sizeof(line), pipe) != nullptr) {
    output.lines.emplace_back(line);
    if (output.lines.back().ends_with('\n')) output.lines.back().pop_back();
  }
  output.status = pclose(pipe);
  return output;
}

}  // namespace cw::test
