// By which queue a write leaves: found by the peer, its number and the path.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/base/assert.h"
#include "dataplane/port/verbs/queues/sender.h"
#include "dataplane/wan.h"

namespace cw::verbs {

/// Open addressing, at most half full. Thread: one. Allocates when it is made and never again.
class SenderIndex {
 public:
  explicit SenderIndex(size_t senders_max)
      : slots_(std::bit_ceil(senders_max * 2 + 1)), mask_(slots_.size() - 1) {}

  void add(uint16_t peer, const SendQueue& queue, Sender* sender) {
    Slot& slot = slots_[place_of(key_of(peer, queue))];
    CW_ASSERT(slot.sender != nullptr || 2 * ++count_ < slots_.size());
    slot = {key_of(peer, queue), sender};
  }
  void remove(uint16_t peer, const SendQueue& queue) {
    size_t hole = place_of(key_of(peer, queue));
    if (slots_[hole].sender == nullptr) return;
    slots_[hole] = {};
    --count_;
    for (size_t next = (hole + 1) & mask_; slots_[next].sender != nullptr;
         next = (next + 1) & mask_) {
      const Slot moved = slots_[next];
      slots_[next] = {};
      slots_[place_of(moved.key)] = moved;
    }
  }
  /// Null: there is none.
  Sender* find(uint16_t peer, const SendQueue& queue) const {
    return slots_[place_of(key_of(peer, queue))].sender;
  }

 private:
  struct Slot {
    uint64_t key = 0;
    Sender* sender = nullptr;
  };
  static uint64_t key_of(uint16_t peer, const SendQueue& queue) {
    return uint64_t{queue.target_qp} << 32 | uint32_t{peer} << 16 | queue.path;
  }
  /// Of the key, or of the free place where it would be.
  size_t place_of(uint64_t key) const {
    constexpr uint64_t golden = 0x9e3779b97f4a7c15;
    size_t place = key * golden >> 32 & mask_;
    while (slots_[place].sender != nullptr && slots_[place].key != key) place = (place + 1) & mask_;
    return place;
  }

  std::vector<Slot> slots_;
  size_t mask_, count_ = 0;
};

}  // namespace cw::verbs
