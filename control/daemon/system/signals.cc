#include "control/daemon/system/signals.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "control/daemon/system/privileges.h"

namespace cw::daemon {
namespace {

std::chrono::nanoseconds chrono_of(Duration time) {
  return std::chrono::nanoseconds(std::max(time, Duration()).ns());
}

}  // namespace

Signals::Signals(int exit_forced)
    : exit_forced_(exit_forced), event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  sigemptyset(&all_);
  sigemptyset(&ends_);
  for (const int number : {SIGTERM, SIGINT}) sigaddset(&ends_, number), sigaddset(&all_, number);
  for (const int number : {SIGHUP, SIGUSR1, SIGRTMIN}) sigaddset(&all_, number);
  pthread_sigmask(SIG_BLOCK, &all_, nullptr);
  signal(SIGPIPE, SIG_IGN);
  thread_ = std::thread([this] { listen(); });
  pthread_setname_np(thread_.native_handle(), "signals");
}

Signals::~Signals() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  nudge();
  thread_.join();
}

void Signals::started() {
  std::unique_lock lock(mutex_);
  has_started_ = true;
  changed_.notify_all();
  nudge();
  changed_.wait(lock, [this] { return !has_rights_; });
}

void Signals::nudge() { pthread_kill(thread_.native_handle(), SIGRTMIN); }

void Signals::leaves_behind(const std::string& file) {
  const std::lock_guard lock(mutex_);
  file_ = file;
}

void Signals::listen() {
  while (true) {
    // The kernel gives the lowest number first: many a SIGHUP would keep SIGTERM waiting.
    constexpr timespec at_once{};
    int number = sigtimedwait(&ends_, nullptr, &at_once);
    if (number <= 0 && sigwait(&all_, &number) != 0) continue;
    if (number != SIGRTMIN) note(number);
    insist();
    const std::lock_guard lock(mutex_);
    if (is_over_) return;
    if (!has_started_ || !has_rights_) continue;
    // Rights are a thread's own. Not before: to become another user takes all threads with theirs.
    (void)give_capabilities_up();
    has_rights_ = false;
    changed_.notify_all();
  }
}

void Signals::note(int number) {
  const std::lock_guard lock(mutex_);
  if (is_end(number)) {
    end_ = number;
    ++told_;
  } else {
    other_ = number;
  }
  tell_taker();
  changed_.notify_all();
}

void Signals::insist() {
  std::unique_lock lock(mutex_);
  const auto is_forced = [this] { return told_ >= (has_started_ ? 2 : 1); };
  if (!is_forced()) return;
  changed_.wait_for(lock, chrono_of(grace), [&] { return is_over_ || !is_forced(); });
  if (is_over_ || !is_forced()) return;
  if (!file_.empty()) unlink(file_.c_str());
  _exit(exit_forced_);
}

void Signals::interrupt() {
  const std::lock_guard lock(mutex_);
  is_interrupted_ = true;
  tell_taker();
}

void Signals::tell_taker() const {
  const uint64_t one = 1;
  (void)!write(event_.get(), &one, sizeof(one));
}

std::optional<int> Signals::try_take(bool ends_only) {
  const std::lock_guard lock(mutex_);
  uint64_t count = 0;
  (void)!read(event_.get(), &count, sizeof(count));
  const bool was_interrupted = !ends_only && std::exchange(is_interrupted_, false);
  if (end_ != 0) return std::exchange(end_, 0);
  if (!ends_only && other_ != 0) return std::exchange(other_, 0);
  return was_interrupted ? std::optional(0) : std::nullopt;
}

int Signals::take(Duration time, bool ends_only) {
  const auto end = std::chrono::steady_clock::now() + chrono_of(time);
  while (true) {
    if (const auto taken = try_take(ends_only)) return *taken;
    const auto left = std::max(end - std::chrono::steady_clock::now(), {});
    pollfd fds[] = {{.fd = event_.get(), .events = POLLIN, .revents = 0},
                    {.fd = ends_only ? -1 : other_fd_, .events = POLLIN, .revents = 0}};
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    (void)poll(fds, std::size(fds), static_cast<int>(ms));
    if (fds[1].revents != 0 || left.count() == 0) return try_take(ends_only).value_or(0);
  }
}

}  // namespace cw::daemon
