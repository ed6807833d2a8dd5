// What is on its way to one port, earliest first.
//
// Most links deliver in the order of sending, so each has a lane: a list that only grows at its end
// while arrival times do not fall. A frame that arrives before its lane's end (reordered, or sent
// after the path became shorter) goes to one pairing heap that all lanes share. Everything is
// linked through the frames: nothing is allocated and nothing can overflow.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/port/sim/frame.h"

namespace cw {

class Arrivals {
 public:
  Arrivals() : heads_(1) {}

  /// A lane for one more link; returns its number. Allocates.
  size_t add_lane();

  /// `frame` will arrive at its packet.at. Cost: constant.
  void push(size_t lane, SimFrame* frame);
  /// When the next frame arrives; never when none is on its way.
  Instant earliest() const { return heads_[first_].at; }
  /// Takes that frame; there must be one. Cost: linear in the lanes, logarithmic in stragglers.
  SimFrame* pop();
  size_t count() const { return count_; }

 private:
  struct Key {
    Instant at = Instant::never();
    uint64_t order = UINT64_MAX;
    auto operator<=>(const Key&) const = default;
  };
  struct Lane {
    SimFrame* head = nullptr;
    SimFrame* tail = nullptr;
  };
  static constexpr size_t stragglers = 0;  // place of the heap's root in heads_

  static Key key_of(const SimFrame* frame) {
    return frame == nullptr ? Key{} : Key{frame->packet.at, frame->order};
  }
  static SimFrame* meld(SimFrame* a, SimFrame* b);
  static SimFrame* meld_pairs(SimFrame* siblings);
  void set_head(size_t place, const SimFrame* frame);

  std::vector<Key> heads_;  // [0] of the heap, [i + 1] of lane i: scanned without touching frames
  std::vector<Lane> lanes_;
  SimFrame* heap_ = nullptr;
  size_t first_ = stragglers;  // the place of the smallest head
  size_t count_ = 0;
};

}  // namespace cw
