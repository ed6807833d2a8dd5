// By which queue a write leaves: found by the peer, its number and the path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/port/verbs/queues/sender.h"
#include "dataplane/wan.h"

namespace cw::verbs {

/// Open addressing, at most half full. Thread: one. add() alone allocates, when an epoch begins.
class SenderIndex {
 public:
  void add(uint16_t peer, const SendQueue& queue, Sender* sender) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    put({key_of(peer, queue), sender});
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
  void put(const Slot& slot) {
    Slot& place = slots_[place_of(slot.key)];
    count_ += place.sender == nullptr;
    place = slot;
  }
  void grow() {
    std::vector<Slot> before(slots_.size() * 2);
    before.swap(slots_);
    mask_ = slots_.size() - 1;
    count_ = 0;
    for (const Slot& each : before) {
      if (each.sender != nullptr) put(each);
    }
  }
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

  std::vector<Slot> slots_ = std::vector<Slot>(64);
  size_t mask_ = 63, count_ = 0;
};

}  // namespace cw::verbs
