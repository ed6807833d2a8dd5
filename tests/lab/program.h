// Programs that a lab runs in its namespaces. They die with this process, however it ends.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace cw::lab {

using Arguments = std::vector<std::string>;
using Time = std::chrono::steady_clock;

/// What a program left.
struct Outcome {
  int status = -1;  ///< exit status; 128 and more: ended by a signal
  std::string out, err;
};

/// What a program is given besides: descriptors from number 3 on, told as systemd tells them
/// (LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES), and more of an environment.
struct Handed {
  std::vector<std::pair<std::string, int>> descriptors;  ///< by name; still the caller's
  std::vector<std::pair<std::string, std::string>> environment;
};

/// A program that runs in a network namespace. What it prints is kept in memory and never makes it
/// wait. Thread: one.
class Program {
 public:
  Program(int namespace_fd, const Arguments& arguments, const Handed& handed = {});
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program();

  /// Waits until its standard error holds `text`; false when it ended before, or in vain.
  bool wait_for(const std::string& text, std::chrono::milliseconds most = std::chrono::seconds(30));
  /// What it has printed so far.
  std::string out_so_far() const;
  std::string err_so_far() const;
  bool has_ended();
  void signal(int number) const;
  pid_t pid() const { return pid_; }
  /// The processor time that it has used so far, threads included.
  std::chrono::nanoseconds processor_time() const;
  /// Waits for its end.
  Outcome finish();

 private:
  void collect(bool waits);

  pid_t pid_ = -1;
  int out_ = -1, err_ = -1;
  int status_ = -1;
  bool has_ended_ = false;
};

}  // namespace cw::lab
