#include "bench/e2e/xdp/system_calls.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace cw::bench {

void SystemCalls::watch(pid_t process) {
  counters_.clear();
  perf_event_attr what{};
  what.type = PERF_TYPE_TRACEPOINT;
  what.size = sizeof what;
  if (!(std::ifstream("/sys/kernel/tracing/events/raw_syscalls/sys_enter/id") >> what.config)) {
    return;
  }
  const std::string tasks = "/proc/" + std::to_string(process) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks)) {
    const pid_t thread = std::stoi(task.path().filename().string());
    OwnedFd counter(static_cast<int>(
        syscall(SYS_perf_event_open, &what, thread, -1, -1, PERF_FLAG_FD_CLOEXEC)));
    if (counter.get() < 0) return counters_.clear();
    counters_.push_back(std::move(counter));
  }
}

double SystemCalls::count() const {
  double sum = 0;
  for (const OwnedFd& counter : counters_) {
    uint64_t count = 0;
    if (read(counter.get(), &count, sizeof count) == sizeof count)
      sum += static_cast<double>(count);
  }
  return sum;
}

}  // namespace cw::bench
