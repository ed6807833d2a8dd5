// What a command prints, for tests that run a program as a shell does.
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

namespace cw::test {

struct Output {
  std::string out;  ///< as the command line says, with the errors or without
  int status = -1;  ///< as shells have it: 128 and the signal's number for who died of one

  std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    std::istringstream text(out);
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }
};

inline Output output_of(const std::string& command) {
  Output output;
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return output;
  char part[4096];
  while (const size_t count = std::fread(part, 1, sizeof(part), pipe)) {
    output.out.append(part, count);
  }
  const int how = pclose(pipe);
  output.status = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
  return output;
}

}  // namespace cw::test
