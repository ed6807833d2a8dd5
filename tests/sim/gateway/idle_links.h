// What links take of this process: the pages that the kernel has given it, whoever asked for them
// and how. They are counted, not timed, and the same in every run.
#pragma once

#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <utility>

#include "dataplane/base/assert.h"

namespace cw::sim {

/// Of the heap and of all LazyMemory, which alone asks for small pages: not of what all links share
/// and has mappings of its own, such as packets.
inline uint64_t resident_bytes() {
  malloc_trim(0);
  std::ifstream file("/proc/self/smaps");
  uint64_t sum = 0, here = 0;
  bool is_heap = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("Rss:")) here = std::stoull(line.substr(4)) << 10;
    if (line.ends_with("[heap]")) is_heap = true;
    if (!line.starts_with("VmFlags:")) continue;
    if (std::exchange(is_heap, false) || line.contains(" nh")) sum += here;
  }
  return sum;
}

/// What `act` says in a process of its own, which has taken nothing before.
template <class Do>
uint64_t in_a_fresh_process(const Do& act) {
  int ends[2];
  CW_ASSERT(pipe(ends) == 0);
  const pid_t child = fork();
  CW_ASSERT(child >= 0);
  if (child == 0) {
    const uint64_t said = act();
    _exit(write(ends[1], &said, sizeof(said)) == sizeof(said) ? 0 : 1);
  }
  uint64_t said = 0;
  CW_ASSERT(read(ends[0], &said, sizeof(said)) == sizeof(said));
  CW_ASSERT(waitpid(child, nullptr, 0) == child);
  close(ends[0]);
  close(ends[1]);
  return said;
}

}  // namespace cw::sim
