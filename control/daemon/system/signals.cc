#include "control/daemon/system/signals.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "control/daemon/system/privileges.h"

namespace cw::daemon {
namespace {

std::chrono::nanoseconds chrono_of(Duration time) {
  return std::chrono::nanoseconds(std::max(time, Duration()).ns());
}

}  // namespace

Signals::Signals(int exit_forced) : exit_forced_(exit_forced) {
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
  changed_.notify_all();
}

int Signals::take(Duration time, bool ends_only) {
  std::unique_lock lock(mutex_);
  const auto has_signal = [&] { return end_ != 0 || (!ends_only && other_ != 0); };
  const auto has_come = [&] { return has_signal() || (!ends_only && is_interrupted_); };
  changed_.wait_for(lock, chrono_of(time), has_come);
  if (!ends_only) is_interrupted_ = false;
  if (!has_signal()) return 0;
  return std::exchange(end_ != 0 ? end_ : other_, 0);
}

}  // namespace cw::daemon
