#include "dataplane/port/sim/arrivals.h"

#include <algorithm>

#include "dataplane/base/assert.h"

namespace cw {

size_t Arrivals::add_lane() {
  lanes_.emplace_back();
  heads_.emplace_back();
  return lanes_.size() - 1;
}

void Arrivals::push(size_t lane, SimFrame* frame) {
  frame->next = frame->child = nullptr;
  ++count_;
  Lane& queue = lanes_[lane];
  if (queue.head == nullptr) {
    queue.head = queue.tail = frame;
    set_head(lane + 1, frame);
  } else if (frame->packet.at >= queue.tail->packet.at) {
    queue.tail = queue.tail->next = frame;
  } else {
    heap_ = meld(heap_, frame);
    set_head(stragglers, heap_);
  }
}

SimFrame* Arrivals::pop() {
  CW_ASSERT(count_ > 0);
  --count_;
  SimFrame* frame;
  if (first_ == stragglers) {
    frame = heap_;
    heap_ = meld_pairs(frame->child);
    heads_[stragglers] = key_of(heap_);
  } else {
    Lane& queue = lanes_[first_ - 1];
    frame = queue.head;
    queue.head = frame->next;
    heads_[first_] = key_of(queue.head);
  }
  first_ = static_cast<size_t>(std::min_element(heads_.begin(), heads_.end()) - heads_.begin());
  return frame;
}

void Arrivals::set_head(size_t place, const SimFrame* frame) {
  heads_[place] = key_of(frame);
  if (heads_[place] < heads_[first_]) first_ = place;
}

SimFrame* Arrivals::meld(SimFrame* a, SimFrame* b) {
  if (a == nullptr) return b;
  if (b == nullptr) return a;
  if (key_of(b) < key_of(a)) std::swap(a, b);
  b->next = a->child;
  a->child = b;
  return a;
}

/// The two passes of a pairing heap: meld neighbours, then the results from the last to the first.
SimFrame* Arrivals::meld_pairs(SimFrame* siblings) {
  SimFrame* pairs = nullptr;
  while (siblings != nullptr) {
    SimFrame* a = siblings;
    SimFrame* b = a->next;
    siblings = b == nullptr ? nullptr : b->next;
    a->next = nullptr;
    if (b != nullptr) b->next = nullptr;
    SimFrame* pair = meld(a, b);
    pair->next = pairs;
    pairs = pair;
  }
  SimFrame* root = nullptr;
  while (pairs != nullptr) {
    SimFrame* rest = pairs->next;
    pairs->next = nullptr;
    root = meld(root, pairs);
    pairs = rest;
  }
  return root;
}

}  // namespace cw
