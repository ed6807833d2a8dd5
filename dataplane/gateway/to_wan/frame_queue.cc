#include "dataplane/gateway/to_wan/frame_queue.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "dataplane/base/assert.h"
#include "dataplane/base/limits.h"

namespace cw::gateway {
namespace {

constexpr size_t units_of(size_t bytes) {
  return (bytes + sizeof(WaitingFrame) - 1) / sizeof(WaitingFrame);
}

}  // namespace

FrameQueue::FrameQueue(QueueMemory& memory, bool is_fair)
    : memory_(&memory),
      blocks_(&memory.join()),
      flow_mask_(static_cast<uint16_t>(is_fair ? fair_flows - 1 : 0)),
      flows_(new Flow[flow_mask_ + size_t{1}]) {}

bool FrameQueue::try_push(const Admitted& how, std::span<const uint8_t> packet, Instant now) {
  CW_DCHECK(packet.size() == how.bytes && packet.size() <= limits::frame_bytes_max);
  const auto units = static_cast<uint32_t>(1 + units_of(packet.size()));
  if (!try_reserve(units)) return false;
  const uint32_t unit = tail_;
  WaitingFrame& frame = *new (&at(unit)) WaitingFrame{.how = how, .since = now, .units = units};
  std::memcpy(packet_of(frame).data(), packet.data(), packet.size());
  tail_ += units;
  left_ -= units;
  used_ += units;
  ++frames_;
  bytes_ += packet.size();
  const auto index = static_cast<uint16_t>(how.bucket & flow_mask_);
  Flow& flow = flows_[index];
  if (flow.frames++ == 0) {
    flow.first = unit;
  } else {
    at(flow.last).next = unit;
  }
  flow.last = unit;
  flow.bytes += how.bytes;
  if (flow.bytes > flows_[fattest_].bytes) fattest_ = index;
  if (flow.place == Place::None) {
    flow.place = Place::New;
    flow.due = share_bytes;
    append(new_, index);
  }
  return true;
}

/// Frames lie in one piece: what is too short for one at a block's end becomes a gap.
bool FrameQueue::try_reserve(uint32_t units) {
  if (units <= left_) return true;
  const uint32_t gap = left_, end = tail_;
  if (!try_grow()) return false;
  if (gap == 0) return true;
  new (&at(end)) WaitingFrame{.is_gone = true, .units = gap};
  used_ += gap;
  return true;
}

bool FrameQueue::try_grow() {
  if (!blocks_->has_room(1)) return false;
  blocks_->take();
  const uint32_t block = memory_->take();
  if (used_ == 0) {
    head_ = block;
  } else {
    memory_->after(tail_ - 1) = block;
  }
  tail_ = block;
  left_ = QueueMemory::block_units;
  return true;
}

void FrameQueue::append(List& list, uint16_t flow) {
  flows_[flow].after = no_flow;
  (list.first == no_flow ? list.first : flows_[list.last].after) = flow;
  list.last = flow;
}

uint16_t FrameQueue::take_first(List& list) {
  const uint16_t flow = list.first;
  list.first = flows_[flow].after;
  return flow;
}

// Deficit round robin, those first that had nothing waiting.
FrameQueue::Flow& FrameQueue::turn() {
  while (true) {
    List& list = new_.first != no_flow ? new_ : old_;
    CW_DCHECK(list.first != no_flow);
    Flow& flow = flows_[list.first];
    if (flow.frames > 0 && flow.due > 0) return flow;
    const uint16_t index = take_first(list);
    // A new one that ran empty stays for a round, or it would come first again and again.
    const bool is_over = flow.frames == 0 && (flow.place == Place::Old || old_.first == no_flow);
    if (is_over) {
      flow.place = Place::None;
      flow.codel.rest();
      continue;
    }
    if (flow.due <= 0) flow.due += share_bytes;
    flow.place = Place::Old;
    append(old_, index);
  }
}

WaitingFrame& FrameQueue::next() {
  CW_DCHECK(frames_ > 0);
  return at(turn().first);
}

void FrameQueue::pop_next() {
  Flow& flow = turn();
  flow.due -= at(flow.first).how.bytes;
  take_out(flow);
}

bool FrameQueue::try_drop_fattest(const Admitted& how) {
  Flow& flow = flows_[fattest_];
  if (flow.frames == 0 || (how.bucket & flow_mask_) == fattest_) return false;
  take_out(flow);
  return true;
}

void FrameQueue::drop_oldest() {
  CW_DCHECK(frames_ > 0);
  take_out(flow_of(at(head_)));
}

void FrameQueue::take_out(Flow& flow) {
  WaitingFrame& frame = at(flow.first);
  flow.first = frame.next;
  --flow.frames;
  flow.bytes -= frame.how.bytes;
  --frames_;
  bytes_ -= frame.how.bytes;
  frame.is_gone = true;
  if (flow.frames == 0) flow.codel.rest();
  reclaim();
}

/// A log that empties gives all back, and begins anew in memory that was used last.
void FrameQueue::reclaim() {
  while (used_ > 0 && at(head_).is_gone) {
    const uint32_t units = at(head_).units;
    used_ -= units;
    head_ += units;
    const bool is_block_over = head_ % QueueMemory::block_units == 0;
    if (is_block_over || used_ == 0) shrink();
  }
}

/// The block before head_ holds nothing any more.
void FrameQueue::shrink() {
  const uint32_t block = head_ - 1;
  head_ = memory_->after(block);
  memory_->give_back(block);
  blocks_->give_back();
  if (used_ == 0) left_ = 0;
}

void FrameQueue::clear() {
  while (frames_ > 0) drop_oldest();
}

}  // namespace cw::gateway
