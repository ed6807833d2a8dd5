#include "dataplane/gateway/frame_queue.h"

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
constexpr size_t units_min = 1 + units_of(limits::frame_bytes_max);

}  // namespace

FrameQueue::FrameQueue(Bytes memory, bool is_fair)
    : unit_count_(static_cast<uint32_t>(
          std::clamp<uint64_t>(memory.count() / unit_bytes, units_min, UINT32_MAX))),
      flow_mask_(static_cast<uint16_t>(is_fair ? fair_flows - 1 : 0)),
      flows_(new Flow[flow_mask_ + size_t{1}]) {
  log_ = make_large_memory(size_t{unit_count_} * unit_bytes);
  CW_ASSERT(log_ != nullptr);
}

bool FrameQueue::try_push(const Admitted& how, std::span<const uint8_t> packet, Instant now) {
  CW_DCHECK(packet.size() == how.bytes && packet.size() <= limits::frame_bytes_max);
  const auto units = static_cast<uint32_t>(1 + units_of(packet.size()));
  if (!try_reserve(units)) return false;
  const uint32_t unit = (head_ + used_) % unit_count_;
  WaitingFrame& frame = *new (&at(unit)) WaitingFrame{.how = how, .since = now, .units = units};
  std::memcpy(packet_of(frame).data(), packet.data(), packet.size());
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

/// Frames lie in one piece: what is too short for one at the log's end becomes a gap.
bool FrameQueue::try_reserve(uint32_t units) {
  const uint32_t end = (head_ + used_) % unit_count_;
  const uint32_t free = unit_count_ - used_;
  const uint32_t in_a_row = std::min(free, unit_count_ - end);
  if (units <= in_a_row) return true;
  if (units > free - in_a_row) return false;
  new (&at(end)) WaitingFrame{.is_gone = true, .units = in_a_row};
  used_ += in_a_row;
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

/// A log that empties begins anew, in memory that was used last.
void FrameQueue::reclaim() {
  while (used_ > 0 && at(head_).is_gone) {
    const uint32_t units = at(head_).units;
    used_ -= units;
    head_ = (head_ + units) % unit_count_;
  }
  if (used_ == 0) head_ = 0;
}

void FrameQueue::clear() {
  while (frames_ > 0) drop_oldest();
}

}  // namespace cw::gateway
