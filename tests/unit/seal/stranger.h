// A process that answers a line with a line: who has written something a second time.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "tests/unit/seal/hex.h"

namespace cw::seal {

class Stranger {
 public:
  explicit Stranger(const char* program) {
    int to[2], from[2];
    if (pipe(to) != 0 || pipe(from) != 0) return;
    child_ = fork();
    if (child_ == 0) {
      dup2(to[0], STDIN_FILENO);
      dup2(from[1], STDOUT_FILENO);
      for (const int fd : {to[0], to[1], from[0], from[1]}) close(fd);
      execlp("python3", "python3", program, nullptr);
      _exit(127);
    }
    close(to[0]);
    close(from[1]);
    out_ = fdopen(to[1], "w");
    in_ = fdopen(from[0], "r");
  }
  ~Stranger() {
    std::fclose(out_);
    std::fclose(in_);
    waitpid(child_, nullptr, 0);
  }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

  /// Nothing: it was refused, and refusal() says why.
  std::vector<Bytes> ask(const std::string& command, const std::vector<Bytes>& words) {
    std::string line = command;
    for (const Bytes& word : words) line += " " + (word.empty() ? "-" : hex_of(word));
    std::fprintf(out_, "%s\n", line.c_str());
    std::fflush(out_);
    char answer[8192] = {};
    refusal_ = "it has ended";
    if (std::fgets(answer, sizeof answer, in_) == nullptr) return {};
    refusal_.clear();
    std::vector<Bytes> parts;
    std::istringstream text(answer);
    for (std::string part; text >> part;) {
      if (part == "refused") {
        std::getline(text >> std::ws, refusal_);
        return {};
      }
      parts.push_back(part == "-" ? Bytes() : bytes_of(part));
    }
    return parts;
  }
  const std::string& refusal() const { return refusal_; }

 private:
  pid_t child_ = -1;
  FILE *out_ = nullptr, *in_ = nullptr;
  std::string refusal_;
};

inline Bytes row_of(std::span<const uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }

}  // namespace cw::seal
