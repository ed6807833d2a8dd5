// A process without a terminal, an input or files of ours but one memory, which does not outlive
// whoever has started it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

#include "dataplane/base/result.h"

namespace cw {

/// Memory that another process may map, without a name in any file system.
class SharedMemory {
 public:
  SharedMemory() = default;
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory();

  /// Once. Zeroed, mapped at data(). Errors: the system has none.
  Result<void> make(size_t bytes);

  char* data() const { return data_; }
  size_t size() const { return size_; }
  int file() const { return file_; }  ///< closed on exec

 private:
  int file_ = -1;
  char* data_ = nullptr;
  size_t size_ = 0;
};

/// Thread: one, which outlives the process: that is killed when this thread ends.
class EmulatorProcess {
 public:
  /// Where the started process has the memory it is given.
  static constexpr const char* memory_path = "/proc/self/fd/3";

  EmulatorProcess() = default;
  EmulatorProcess(const EmulatorProcess&) = delete;
  EmulatorProcess& operator=(const EmulatorProcess&) = delete;
  ~EmulatorProcess() { end(); }

  /// Once. `words` are the program, found in PATH if it has no slash, and its arguments. It runs on
  /// any processor with the usual priority, whatever the caller's are. Errors: no process; a
  /// program that cannot be run is seen by has_ended() and was_found().
  Result<void> start(const std::vector<std::string>& words, int memory_file);

  /// 0: there is none, or it has been seen to have ended.
  pid_t pid() const { return pid_; }
  bool has_ended();
  /// After has_ended(): whether there was such a program.
  bool was_found() const { return was_found_; }
  /// The last line it has written to its standard error; empty: none.
  std::string last_words() const;

  /// Asks it to end, and after a second makes it. Does nothing when it has ended.
  void end();

 private:
  void collect(int options);

  pid_t pid_ = 0;
  bool was_found_ = true;
  int errors_ = -1;  // a memory file, its standard error
};

}  // namespace cw
