// What benches have in common: a core of one's own, and the middle of what was measured.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <ctime>
#include <vector>

namespace cw::bench {

/// This thread runs on `core` alone; false: it may not.
inline bool try_bind_to(unsigned core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  return pthread_setaffinity_np(pthread_self(), sizeof(set), &set) == 0;
}

/// Time this thread has run, whoever else wants the core.
inline double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// 0 of nothing.
inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace cw::bench
