// What a worker does when a turn found nothing: turn again at once (`poll`), or, after a while,
// wait until a packet, a change or the next deadline comes (`adaptive`). This is the only place of
// the core that makes system calls, and the turn does not call it.
//
// A port with a wait_fd wakes the worker. One port without any means sleeping in steps, short ones
// at first and longer ones while nothing comes: a step is then the delay that an idle link adds,
// and PortFacts::wait_fd tells which ports do that.
#pragma once

#include <poll.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/base/units.h"
#include "dataplane/core/turn/clock.h"
#include "dataplane/core/turn/worker.h"
#include "dataplane/port.h"

namespace cw {

enum class IdlePolicy : uint8_t { Poll, Adaptive };

struct IdleOptions {
  IdlePolicy policy = IdlePolicy::Adaptive;
  /// Keeps turning this long after the last work, and whenever the next deadline is nearer than
  /// this: the kernel wakes some ten microseconds late.
  Duration spin = Duration::from_us(100);
  /// Where packets come in a row, lets them gather so long between two turns: where turns cost
  /// system calls, ten packets a turn are far cheaper than one. The first packet after an idle
  /// time never waits, nor do those that come one by one. Zero: spins instead.
  Duration pause{};
  /// Sleeps when a port has no wait_fd: the first one after work, and the longest. A step of 50 us
  /// costs a third of a core, one of 800 us a twentieth, and with it nothing waits for a
  /// millisecond.
  Duration step_first = Duration::from_us(50);
  Duration step_max = Duration::from_us(800);
  Duration wait_max = Duration::from_ms(50);  ///< one wait, whatever is planned; at most 999 ms
};

/// Thread: the worker, except wake_any_thread().
class IdleWait {
 public:
  IdleWait(const IdleOptions& options, std::span<PortBase* const> ports);
  ~IdleWait();
  IdleWait(const IdleWait&) = delete;
  IdleWait& operator=(const IdleWait&) = delete;

  /// Takes the outcome of a turn at `now`; returns until when to wait, or `now` for not at all.
  Instant plan(bool has_worked, Instant now, Instant next_wakeup);
  /// Sleeps for `time` at most, until a port has packets, or until woken. One or two system calls.
  void wait(Duration time);
  /// Ends the current wait, or prevents the next one: for whoever has posted a change.
  void wake_any_thread();

  bool sleeps_in_steps() const { return sleeps_in_steps_; }

 private:
  IdleOptions options_;
  bool sleeps_in_steps_ = false;
  bool is_pausing_ = false;  // the wait that was planned last lets packets gather
  int wake_fd_ = -1;
  size_t fd_count_ = 0;
  std::array<pollfd, Worker::sides_max + 1> fds_{};
  Instant last_work_;
  Duration step_;  // the next sleep, when sleeping in steps
};

/// Turns `worker` until `stop` is set (and, while it waits, until it is woken or wait_max is over).
/// `after_turn` is called after each.
template <Clock C, class AfterTurn>
void run(Worker& worker, const C& clock, IdleWait& idle, const std::atomic<bool>& stop,
         const AfterTurn& after_turn) {
  while (!stop.load(std::memory_order_relaxed)) {
    const Instant now = clock.read();
    const bool has_worked = worker.turn(now);
    after_turn();
    const Instant wake = idle.plan(has_worked, now, worker.next_wakeup());
    if (wake <= now || worker.is_behind()) continue;
    worker.counters().add(Counter::waits);
    worker.sleeps_until(wake);
    idle.wait(wake - now);
  }
}

template <Clock C>
void run(Worker& worker, const C& clock, IdleWait& idle, const std::atomic<bool>& stop) {
  run(worker, clock, idle, stop, [] {});
}

}  // namespace cw
