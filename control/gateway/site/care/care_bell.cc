#include "control/gateway/site/care/care_bell.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

namespace cw::site {

CareBell::CareBell() : fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

CareBell::~CareBell() {
  if (fd_ >= 0) close(fd_);
}

void CareBell::ring_any_thread() {
  const uint64_t once = 1;
  (void)!write(fd_, &once, sizeof(once));  // full: it rings already
}

void CareBell::hush() {
  uint64_t count = 0;
  (void)!read(fd_, &count, sizeof(count));
}

}  // namespace cw::site
