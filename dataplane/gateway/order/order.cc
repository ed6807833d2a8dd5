#include "dataplane/gateway/order/order.h"

#include <utility>

namespace cw::gateway {

Order::Order(const OrderOptions& options, FrameTable& frames, SlotRows& rows, BucketStock& buckets)
    : options_(options),
      frames_(frames),
      rows_(rows),
      buckets_(buckets, {options.first_seq, options.first_message, 0}, options.messages),
      doubts_(doubt_count, &buckets.memory()),
      holes_(1, &buckets.memory()) {}

/// Slots of the stream from the frame that the front has come to up to this one; below zero: it
/// stands before that.
int64_t Order::slots_between(const Front& front, const ParsedFrame& frame) const {
  const int64_t messages = front.message.distance_to(frame.seq);
  // No frame is older than the messages at hand: the bucket has slept for half of all sequences.
  if (messages < -int64_t{options_.messages}) return INT32_MAX;
  return messages * options_.data_slots_max + frame.slot - front.slot;
}

bool Order::is_too_far(const Front& front, const ParsedFrame& frame) const {
  const int64_t ahead = front.next.distance_to(BucketSeq(frame.header.bucket_seq));
  return ahead > 0 && ahead > (slots_between(front, frame) + 1) * options_.slot_frames_max;
}

// One number that is wrong can be anywhere. Several that go on from each other, as far apart as
// their slots have room for, are where their stream is.
bool Order::is_astray(const ParsedFrame& frame) {
  const BucketSeq seq(frame.header.bucket_seq);
  Doubt& doubt = doubts_[frame.header.bucket % doubt_count];
  const bool is_ours = doubt.epoch == buckets_.epoch() && doubt.bucket == frame.header.bucket;
  const bool goes_on =
      is_ours && !seq.is_before(doubt.front.next) && !is_too_far(doubt.front, frame);
  const auto agreeing = static_cast<uint16_t>(goes_on ? doubt.agreeing + 1 : 1);
  doubt = {buckets_.epoch(), frame.header.bucket, agreeing, {seq + 1, frame.seq, frame.slot}};
  return agreeing >= agreeing_min;
}

// What is held there waits for numbers that nobody will send.
void Order::follow(Bucket& bucket, const ParsedFrame& frame) {
  while (!bucket.held.is_empty()) release(bucket);
  go_to(bucket.front, BucketSeq(frame.header.bucket_seq), frame);
}

void Order::take(uint32_t index, Instant now) {
  Frame& frame = frames_.at(index);
  if (frame.parsed.header.order == FrameOrder::AtOnce) return let_out(index);
  Bucket* const found = buckets_.find(frame.parsed);
  if (found == nullptr) return frames_.drop(index, DropReason::hold_memory);
  Bucket& bucket = *found;
  if (!bucket.is_known) return hold(bucket, index, now);
  if (is_too_far(bucket.front, frame.parsed)) {
    if (!is_astray(frame.parsed)) return frames_.drop(index, DropReason::frame_ahead);  // [C-49]
    follow(bucket, frame.parsed);
  }
  const int64_t ahead = bucket.front.next.distance_to(seq_of(frame));
  if (is_behind(frame)) {
    return ahead <= 0 ? let_out(index) : hold(bucket, index, now);
  }
  if (ahead > 0) return hold(bucket, index, now);
  // It stands further on: then the number that it would be late for was a lie [C-49].
  if (ahead < 0 && slots_between(bucket.front, frame.parsed) <= 0) {
    return frames_.drop(index, DropReason::frame_late);
  }
  go_to(bucket.front, seq_of(frame) + 1, frame.parsed);
  let_out(index);
  if (!bucket.held.is_empty()) run(bucket);
}

void Order::hold(Bucket& bucket, uint32_t index, Instant now) {
  Frame& frame = frames_.at(index);
  bucket.held.push(frames_, index, counts_.compared);
  frame.is_held = true;
  frame.arrived = now;
  ++counts_.held;
  link(age_, &Frame::in_age, index, age_.last);
  FrameRow& slot = slot_of(frame.parsed);
  link(slot, &Frame::in_slot, index, slot.last);
  if (frame.parsed.is_settled) give_up_before(index, counts_.missed_exactly);
}

// Releases what waits for nothing more.
void Order::run(Bucket& bucket) {
  while (!bucket.held.is_empty()) {
    if (bucket.front.next.is_before(seq_of(frames_.at(bucket.held.front(frames_))))) return;
    release(bucket);
  }
}

void Order::go_to(Front& front, BucketSeq next, const ParsedFrame& frame) {
  front.next = next;
  front.message = frame.seq;
  front.slot = frame.slot;
}

// Releases everything in the bucket up to the frame, in order, passing over what is not there.
void Order::give_up_before(uint32_t index, uint64_t& missed) {
  Bucket& bucket = bucket_of(frames_.at(index));
  while (frames_.at(index).is_held) {
    const Frame& first = frames_.at(bucket.held.front(frames_));
    if (std::exchange(bucket.is_known, true)) {
      missed += static_cast<uint64_t>(bucket.front.next.distance_to(seq_of(first)));
    }
    go_to(bucket.front, seq_of(first), first.parsed);
    run(bucket);
  }
}

void Order::on_settled(uint32_t place, uint32_t slot_first, uint32_t slot_end) {
  if (counts_.held == 0) return;
  for (uint32_t slot = slot_first; slot < slot_end; ++slot) {
    const FrameRow& row = rows_.held(place, slot);
    while (row.first != no_frame) give_up_before(row.first, counts_.missed_exactly);
  }
}

bool Order::give_up_oldest() {
  if (age_.first == no_frame) return false;
  give_up_before(age_.first, counts_.missed_by_need);
  return true;
}

bool Order::on_time(Instant now) {
  bool has_work = false;
  while (next_due() <= now) {
    give_up_before(age_.first, counts_.missed_by_time);
    has_work = true;
  }
  return has_work;
}

Instant Order::next_due() const {
  if (age_.first == no_frame) return Instant::never();
  return frames_.at(age_.first).arrived + options_.hold;
}

void Order::rebase(Duration shift) {
  for (uint32_t index = age_.first; index != no_frame; index = frames_.at(index).in_age.after) {
    frames_.at(index).arrived += shift;
  }
}

// The lowest of the bucket. A second one of its number shows only now.
void Order::release(Bucket& bucket) {
  const uint32_t index = bucket.held.front(frames_);
  bucket.held.pop_front(frames_, counts_.compared);
  forget(index);
  const Frame& frame = frames_.at(index);
  ++holes_[0].counts[HoleTimes::step_of(now_ - frame.arrived)];
  if (is_behind(frame)) return let_out(index);
  if (seq_of(frame).is_before(bucket.front.next)) {
    return frames_.drop(index, DropReason::frame_duplicate);
  }
  go_to(bucket.front, seq_of(frame) + 1, frame.parsed);
  let_out(index);
}

void Order::reset() {
  buckets_.reset();  // and with it what they hold
  while (age_.first != no_frame) {
    const uint32_t frame = age_.first;
    forget(frame);
    frames_.drop(frame, DropReason::epoch_over);
  }
  while (!released().is_empty()) frames_.drop(released().pop(), DropReason::epoch_over);
}

void Order::forget(uint32_t index) {
  Frame& frame = frames_.at(index);
  unlink(age_, &Frame::in_age, index);
  unlink(slot_of(frame.parsed), &Frame::in_slot, index);
  frame.is_held = false;
  --counts_.held;
}

void Order::link(FrameRow& row, FrameLinks Frame::* links, uint32_t index, uint32_t before) {
  FrameLinks& own = frames_.at(index).*links;
  own.before = before;
  own.after = before == no_frame ? row.first : (frames_.at(before).*links).after;
  (own.before == no_frame ? row.first : (frames_.at(own.before).*links).after) = index;
  (own.after == no_frame ? row.last : (frames_.at(own.after).*links).before) = index;
}

void Order::unlink(FrameRow& row, FrameLinks Frame::* links, uint32_t index) {
  const FrameLinks own = frames_.at(index).*links;
  (own.before == no_frame ? row.first : (frames_.at(own.before).*links).after) = own.after;
  (own.after == no_frame ? row.last : (frames_.at(own.after).*links).before) = own.before;
}

}  // namespace cw::gateway
