// What a send queue holds until the device has read it, oldest first. Completions come for the last
// of a row and stand for all of it.
#pragma once

#include <atomic>
#include <cstdint>

#include "dataplane/base/memory/ring.h"
#include "dataplane/base/units.h"
#include "dataplane/port.h"
#include "dataplane/port/verbs/device/handles.h"
#include "dataplane/port/verbs/queues/receiver.h"

namespace cw::verbs {

struct Sender {
  explicit Sender(uint32_t depth) : holds(depth) {}

  /// One packet's payload: of a packet, or in memory outside.
  struct Hold {
    Packet* packet = nullptr;
    uint64_t cookie = 0;
  };

  QueuePair pair;
  uint64_t tag = 0;  ///< of its completions, but for the length of the row
  Ring<Hold> holds;
  uint32_t psn = 0;  ///< of the next packet
  Instant moved;     ///< when it last began to hold something, or a row was read
  std::atomic<Health> health{Health::Whole};
  bool is_found_broken = false;  ///< the turn's: it gives it to the keeper when it looks next

  /// The turn's to post receive requests to, where it receives as well.
  bool is_ours() const {
    return !is_found_broken && health.load(std::memory_order_acquire) != Health::Broken;
  }
  /// And to send by: what it held before it broke has been given up.
  bool is_whole() const {
    return !is_found_broken && health.load(std::memory_order_acquire) == Health::Whole;
  }
};

}  // namespace cw::verbs
