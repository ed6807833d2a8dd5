#include "dataplane/core/turn/mailbox.h"

#include <time.h>

#include <algorithm>
#include <bit>

#include "dataplane/base/assert.h"

namespace cw {

Mailbox::Mailbox(size_t capacity)
    : mask_(std::bit_ceil(capacity) - 1), cells_(new Cell[mask_ + 1]) {
  CW_ASSERT(capacity > 0);
  for (size_t i = 0; i <= mask_; ++i) cells_[i].turn.store(i, std::memory_order_relaxed);
}

std::optional<Mailbox::Ticket> Mailbox::try_post_any_thread(Change change) {
  CW_ASSERT(change.run != nullptr);
  uint64_t place = next_.load(std::memory_order_relaxed);
  while (true) {
    Cell& cell = cells_[place & mask_];
    const uint64_t turn = cell.turn.load(std::memory_order_acquire);
    if (turn < place) return std::nullopt;  // the change of one round ago is still in it
    if (turn > place) {                     // another poster was faster
      place = next_.load(std::memory_order_relaxed);
      continue;
    }
    if (!next_.compare_exchange_weak(place, place + 1, std::memory_order_relaxed)) continue;
    cell.change = change;
    cell.turn.store(place + 1, std::memory_order_release);
    return place;
  }
}

bool Mailbox::wait_any_thread(Ticket ticket, Duration patience) const {
  // In steps, so that the worker has nobody to wake; the steps grow to a millisecond.
  Duration step = Duration::from_us(20), waited;
  while (!is_done_any_thread(ticket)) {
    if (waited >= patience) return false;
    const timespec pause{0, step.ns()};
    nanosleep(&pause, nullptr);
    waited += step;
    step = std::min(step * 2, Duration::from_ms(1));
  }
  return true;
}

bool Mailbox::run_one(Instant now) {
  const uint64_t place = done_.load(std::memory_order_relaxed);
  Cell& cell = cells_[place & mask_];
  if (cell.turn.load(std::memory_order_acquire) != place + 1) return false;
  const Change change = cell.change;
  cell.turn.store(place + mask_ + 1, std::memory_order_release);
  change.run(change.argument, now);
  done_.store(place + 1, std::memory_order_release);
  return true;
}

}  // namespace cw
