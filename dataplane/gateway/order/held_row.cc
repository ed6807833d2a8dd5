#include "dataplane/gateway/order/held_row.h"

#include <utility>

namespace cw::gateway {
namespace {

bool stands_before(const Frame& a, const Frame& b) {
  const int64_t apart = seq_of(a).distance_to(seq_of(b));
  return apart != 0 ? apart > 0 : is_behind(a) && !is_behind(b);
}

}  // namespace

void HeldRow::push(FrameTable& frames, uint32_t index, uint64_t& compared) {
  Frame& frame = frames.at(index);
  frame.in_bucket = {};
  ++compared;
  if (first_ == no_frame) {
    first_ = last_ = index;
  } else if (stands_before(frame, frames.at(last_))) {
    stragglers_ = meld(frames, stragglers_, index, compared);
  } else {
    frames.at(last_).in_bucket.after = index;
    last_ = index;
  }
}

void HeldRow::pop_front(FrameTable& frames, uint64_t& compared) {
  if (is_straggler_first(frames)) {
    stragglers_ = meld_pairs(frames, frames.at(stragglers_).in_bucket.before, compared);
  } else {
    first_ = frames.at(first_).in_bucket.after;
  }
}

bool HeldRow::is_straggler_first(FrameTable& frames) const {
  if (first_ == no_frame || stragglers_ == no_frame) return first_ == no_frame;
  return stands_before(frames.at(stragglers_), frames.at(first_));
}

/// Of two heaps, either of which may be none.
uint32_t HeldRow::meld(FrameTable& frames, uint32_t a, uint32_t b, uint64_t& compared) {
  if (a == no_frame) return b;
  if (b == no_frame) return a;
  ++compared;
  if (stands_before(frames.at(b), frames.at(a))) std::swap(a, b);
  frames.at(b).in_bucket.after = frames.at(a).in_bucket.before;
  frames.at(a).in_bucket.before = b;
  return a;
}

/// The two passes of a pairing heap: meld neighbours, then the results from the last to the first.
uint32_t HeldRow::meld_pairs(FrameTable& frames, uint32_t siblings, uint64_t& compared) {
  const auto take = [&](uint32_t& row) {
    const uint32_t frame = row;
    if (frame != no_frame) row = std::exchange(frames.at(frame).in_bucket.after, no_frame);
    return frame;
  };
  uint32_t pairs = no_frame;
  while (siblings != no_frame) {
    const uint32_t a = take(siblings), b = take(siblings);
    const uint32_t pair = meld(frames, a, b, compared);
    frames.at(pair).in_bucket.after = std::exchange(pairs, pair);
  }
  uint32_t root = no_frame;
  while (pairs != no_frame) root = meld(frames, root, take(pairs), compared);
  return root;
}

}  // namespace cw::gateway
