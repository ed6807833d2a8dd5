// The signals that a gateway knows, taken by a thread of their own: whoever tells it to end is
// heard whatever the other threads are doing, and, told twice, ends it.
#pragma once

#include <signal.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "dataplane/base/units.h"
#include "dataplane/kernel/owned_fd.h"

namespace cw::daemon {

/// Blocks SIGTERM, SIGINT, SIGHUP and SIGUSR1 for this thread and all that it makes from now on.
class Signals {
 public:
  /// How long the process has for an end of its own when it was told for the last time.
  static constexpr Duration grace = Duration::from_s(3);
  /// How it ends after that: nothing is freed, and `exit_forced` is its exit code.
  explicit Signals(int exit_forced);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  /// From now on there is something to be ended in order: it takes two signals to force an end, and
  /// one before. Gives the rights of this one's thread up.
  void started();
  /// A file that a forced end removes too.
  void leaves_behind(const std::string& file);

  /// The number of a signal that came, or zero after `time`; those that end first. Thread: one.
  int wait(Duration time) { return take(time, /*ends_only=*/false); }
  /// The same of those that end; what else comes meanwhile is one signal afterwards.
  int wait_for_end(Duration time) { return take(time, /*ends_only=*/true); }
  /// Ends a wait() early, or the next, with zero. Thread: any.
  void interrupt();
  /// So does this descriptor while it is readable; -1: none.
  void is_interrupted_by(int fd) { other_fd_ = fd; }
  static bool is_end(int number) { return number == SIGTERM || number == SIGINT; }

 private:
  void listen();
  void note(int number);
  /// Makes the thread look what has changed.
  void nudge();
  /// Ends the process when it has been told often enough and does not end by itself.
  void insist();
  int take(Duration time, bool ends_only);
  /// Zero: somebody interrupts.
  std::optional<int> try_take(bool ends_only);
  void tell_taker() const;

  const int exit_forced_;
  sigset_t all_{}, ends_{};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false, has_started_ = false, has_rights_ = true;
  int told_ = 0;   // how often to end
  int end_ = 0;    // of those that came and were not taken
  int other_ = 0;  // the last of them
  bool is_interrupted_ = false;
  int other_fd_ = -1;
  OwnedFd event_;  // readable when something has changed for take()
  std::string file_;
  std::thread thread_;
};

}  // namespace cw::daemon
