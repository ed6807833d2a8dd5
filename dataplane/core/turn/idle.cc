#include "dataplane/core/turn/idle.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "dataplane/base/assert.h"

namespace cw {
namespace {

/// What is further apart does not come in a row: a pause would gather nothing, and cost a turn.
constexpr int64_t pauses_in_a_row = 4;

}  // namespace

IdleWait::IdleWait(const IdleOptions& options, std::span<PortBase* const> ports)
    : options_(options), step_(options.step_first) {
  CW_ASSERT(ports.size() < fds_.size());
  CW_ASSERT(options.wait_max.ns() > 0 && options.wait_max < Duration::from_s(1));
  wake_fd_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  // Without a wake-up the worker still looks into its mailbox, step by step.
  if (wake_fd_ < 0) sleeps_in_steps_ = true;
  fds_[fd_count_++] = {wake_fd_, POLLIN, 0};
  for (const PortBase* port : ports) {
    const int fd = port->facts().wait_fd;
    if (fd < 0) {
      sleeps_in_steps_ = true;
    } else {
      fds_[fd_count_++] = {fd, POLLIN, 0};
    }
  }
}

IdleWait::~IdleWait() {
  if (wake_fd_ >= 0) close(wake_fd_);
}

Instant IdleWait::plan(bool has_worked, Instant now, Instant next_wakeup) {
  if (options_.policy == IdlePolicy::Poll) return now;
  is_pausing_ = has_worked && now - last_work_ < options_.pause * pauses_in_a_row;
  if (has_worked) last_work_ = now;
  if (has_worked || next_wakeup <= now) step_ = options_.step_first;
  if (is_pausing_) return now + options_.pause;
  const Instant spin_end = now + options_.spin;
  const bool is_spinning = options_.pause == Duration() && now - last_work_ < options_.spin;
  if (is_spinning || next_wakeup <= spin_end) return now;
  if (!sleeps_in_steps_) return std::min(now + options_.wait_max, next_wakeup - options_.spin);
  const Instant wake = std::min(now + step_, next_wakeup - options_.spin);
  step_ = std::min(step_ * 2, options_.step_max);
  return wake;
}

void IdleWait::wait(Duration time) {
  if (time.ns() <= 0) return;
  const timespec timeout{0, std::min(time, options_.wait_max).ns()};
  if (is_pausing_) {
    nanosleep(&timeout, nullptr);
    return;
  }
  if (ppoll(fds_.data(), fd_count_, &timeout, nullptr) <= 0) return;
  if ((fds_[0].revents & POLLIN) == 0) return;
  uint64_t wakes = 0;
  [[maybe_unused]] const ssize_t drained = read(wake_fd_, &wakes, sizeof wakes);
}

void IdleWait::wake_any_thread() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_fd_, &one, sizeof one);
}

}  // namespace cw
