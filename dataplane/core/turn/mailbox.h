// How other threads change a worker: they post a change, the worker carries out at most one per
// turn, between bursts. Posters wait for each other and for the worker if they like; the worker
// waits for nobody, takes no lock, allocates nothing and makes no system call.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "dataplane/base/units.h"

namespace cw {

/// A function to be called on the worker's thread with `argument`, which must live until the change
/// is done. It is short: it runs between two bursts. What needs memory brings it along, and takes
/// back, by the argument, what is to be freed.
struct Change {
  void (*run)(void* argument, Instant now) = nullptr;
  void* argument = nullptr;
};

/// A bounded queue of changes, from any number of threads to one worker, carried out in the order
/// in which their posts succeeded.
class Mailbox {
 public:
  /// The place of a change in the row of all changes.
  using Ticket = uint64_t;

  /// Holds up to `capacity` changes, rounded up to a power of two.
  explicit Mailbox(size_t capacity = 64);

  /// Leaves a change for the worker; nothing when the mailbox is full. A worker that waits is not
  /// woken: see IdleWait::wake_any_thread().
  std::optional<Ticket> try_post_any_thread(Change change);

  /// Whether the change has been carried out. If so, all that it wrote is visible to the caller.
  bool is_done_any_thread(Ticket ticket) const {
    return done_.load(std::memory_order_acquire) > ticket;
  }

  /// Sleeps until the change is done, or `patience` is over; says whether it is done. A change that
  /// is not done may still run: its argument must live on. Never on the worker's own thread.
  bool wait_any_thread(Ticket ticket, Duration patience) const;

  /// Carries out the oldest change; false when there is none. Thread: the worker.
  bool run_one(Instant now);

 private:
  // One cell per place. Its turn says whose it is: equal to the place, a poster's; one more, the
  // worker's. (Vyukov's bounded queue, with a single consumer.)
  struct Cell {
    std::atomic<uint64_t> turn{0};
    Change change;
  };

  static constexpr size_t line_bytes = 64;
  const size_t mask_;
  const std::unique_ptr<Cell[]> cells_;
  alignas(line_bytes) std::atomic<uint64_t> next_{0};  // the place of the next post
  alignas(line_bytes) std::atomic<uint64_t> done_{0};  // changes carried out; the worker writes
};

}  // namespace cw
