// How many system calls a process makes, as the kernel counts them at their entry.
#pragma once

#include <sys/types.h>

#include <vector>

#include "dataplane/kernel/owned_fd.h"

namespace cw::bench {

/// Thread: one.
class SystemCalls {
 public:
  /// Those of its threads that there are now.
  void watch(pid_t process);
  /// False: this kernel has no tracefs at its usual place, or does not let us.
  bool is_counting() const { return !counters_.empty(); }
  double count() const;

 private:
  std::vector<OwnedFd> counters_;
};

}  // namespace cw::bench
