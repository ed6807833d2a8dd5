// Work for the thread in which drivers of DPDK have their events handled.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "dataplane/base/result.h"

struct rte_intr_handle;

namespace cw {

/// A function that the EAL's interrupt thread calls when it is asked to. Calls do not overlap, and
/// several asks may become one call.
///
/// The thread waits for events and handles them in batches. A descriptor that is closed within a
/// batch may have an event left in it, and whoever opens the next one gets its number and that
/// event: a memif's driver then waits for ever for a message that nobody sends. Hence what closes
/// and what opens descriptors must be calls of their own, for no two calls share a batch.
class InterruptCall {
 public:
  /// Errors: the process has no descriptor left.
  static Result<std::unique_ptr<InterruptCall>> make(std::function<void()> work);
  /// Waits for a call that is under way.
  ~InterruptCall();
  InterruptCall(const InterruptCall&) = delete;
  InterruptCall& operator=(const InterruptCall&) = delete;

  /// Thread: any. A system call; does not wait.
  void ask();
  /// Asks, and waits for the end of a call that began later. Thread: any but the one that calls.
  void ask_and_wait();

 private:
  explicit InterruptCall(std::function<void()> work) : work_(std::move(work)) {}
  static void on_event(void* call);

  std::function<void()> work_;
  std::atomic<uint64_t> asked_ = 0, answered_ = 0;  // answered: all asked before a call that ended
  int event_ = -1;
  rte_intr_handle* handle_ = nullptr;
};

}  // namespace cw
