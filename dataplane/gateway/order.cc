#include "dataplane/gateway/order.h"

#include "dataplane/base/assert.h"

namespace cw::gateway {
namespace {

BucketSeq seq_of(const Frame& frame) { return BucketSeq(frame.parsed.header.bucket_seq); }
bool is_behind(const Frame& frame) { return frame.parsed.header.order == FrameOrder::Behind; }

/// Where a frame stands in its bucket's row: by number, those behind a number before its bearer.
int64_t rank_of(const Frame& frame, BucketSeq next) {
  return next.distance_to(seq_of(frame)) * 2 + (is_behind(frame) ? 0 : 1);
}

}  // namespace

Order::Order(const OrderOptions& options, FrameTable& frames, OrderSink& sink)
    : options_(options),
      frames_(frames),
      sink_(sink),
      buckets_(new Bucket[bucket_count]()),
      slots_(new Row[size_t{options.messages} * options.data_slots_max]()) {}

Order::Bucket& Order::bucket_of(const Frame& frame) {
  Bucket& bucket = buckets_[frame.parsed.header.bucket];
  if (bucket.epoch != epoch_) bucket = {epoch_, options_.first_seq, {}, options_.first_message};
  return bucket;
}

/// Slots of the stream from the frame that the bucket has come to up to this one; below zero: it
/// stands before that.
int64_t Order::slots_between(const Bucket& bucket, const ParsedFrame& frame) const {
  const int64_t messages = bucket.message.distance_to(frame.seq);
  // No frame is older than the messages at hand: the bucket has slept for half of all sequences.
  if (messages < -int64_t{options_.messages}) return INT32_MAX;
  return messages * options_.data_slots_max + frame.slot - bucket.slot;
}

bool Order::is_too_far(const Bucket& bucket, const ParsedFrame& frame) const {
  const int64_t ahead = bucket.next.distance_to(BucketSeq(frame.header.bucket_seq));
  return ahead > 0 && ahead > (slots_between(bucket, frame) + 1) * options_.slot_frames_max;
}

void Order::take(uint32_t index, Instant now) {
  Frame& frame = frames_.at(index);
  if (frame.parsed.header.order == FrameOrder::AtOnce) return sink_.on_released(index, now);
  Bucket& bucket = bucket_of(frame);
  if (is_too_far(bucket, frame.parsed)) {
    return sink_.on_refused(index, DropReason::frame_ahead);  // [C-49]
  }
  const int64_t ahead = bucket.next.distance_to(seq_of(frame));
  if (is_behind(frame)) {
    return ahead <= 0 ? sink_.on_released(index, now) : hold(index, now);
  }
  if (ahead > 0) return hold(index, now);
  // It stands further on: then the number that it would be late for was a lie [C-49].
  if (ahead < 0 && slots_between(bucket, frame.parsed) <= 0) {
    return sink_.on_refused(index, DropReason::frame_late);
  }
  go_to(bucket, seq_of(frame) + 1, frame.parsed);
  sink_.on_released(index, now);
  run(bucket, now);
}

void Order::hold(uint32_t index, Instant now) {
  Frame& frame = frames_.at(index);
  if (!try_insert(bucket_of(frame), index)) {
    return sink_.on_refused(index, DropReason::frame_duplicate);
  }
  frame.is_held = true;
  frame.arrived = now;
  ++counts_.held;
  link(age_, &Frame::in_age, index, age_.last);
  Row& slot = slot_of(frame.parsed);
  link(slot, &Frame::in_slot, index, slot.last);
  if (frame.parsed.is_settled) give_up_before(index, counts_.missed_exactly, now);
}

// Most frames come in order, and stand last; what was sent again usually stands near the front.
// False when the number is taken.
bool Order::try_insert(Bucket& bucket, uint32_t index) {
  const int64_t rank = rank_of(frames_.at(index), bucket.next);
  const auto rank_at = [&](uint32_t other) { return rank_of(frames_.at(other), bucket.next); };
  uint32_t before = bucket.held.last, after = bucket.held.first;
  while (before != no_frame && rank_at(before) > rank) {
    if (rank_at(after) > rank) {
      before = frames_.at(after).in_bucket.before;
      break;
    }
    before = frames_.at(before).in_bucket.before;
    after = frames_.at(after).in_bucket.after;
  }
  const bool is_numbered = !is_behind(frames_.at(index));
  if (is_numbered && before != no_frame && rank_at(before) == rank) return false;
  link(bucket.held, &Frame::in_bucket, index, before);
  return true;
}

// Releases what waits for nothing more.
void Order::run(Bucket& bucket, Instant now) {
  while (bucket.held.first != no_frame) {
    const uint32_t index = bucket.held.first;
    const Frame& frame = frames_.at(index);
    if (bucket.next.is_before(seq_of(frame))) return;
    if (!is_behind(frame)) go_to(bucket, bucket.next + 1, frame.parsed);
    release(index, now);
  }
}

void Order::go_to(Bucket& bucket, BucketSeq next, const ParsedFrame& frame) {
  bucket.next = next;
  bucket.message = frame.seq;
  bucket.slot = frame.slot;
}

// Releases everything in the bucket up to the frame, in order, passing over what is not there.
void Order::give_up_before(uint32_t index, uint64_t& missed, Instant now) {
  Bucket& bucket = bucket_of(frames_.at(index));
  while (frames_.at(index).is_held) {
    const BucketSeq seq = seq_of(frames_.at(bucket.held.first));
    missed += static_cast<uint64_t>(bucket.next.distance_to(seq));
    go_to(bucket, seq, frames_.at(bucket.held.first).parsed);
    run(bucket, now);
  }
}

void Order::on_settled(uint32_t place, uint32_t slot_first, uint32_t slot_end, Instant now) {
  if (counts_.held == 0) return;
  Row* rows = &slots_[size_t{place} * options_.data_slots_max];
  for (uint32_t slot = slot_first; slot < slot_end; ++slot) {
    while (rows[slot].first != no_frame) {
      give_up_before(rows[slot].first, counts_.missed_exactly, now);
    }
  }
}

bool Order::give_up_oldest(Instant now) {
  if (age_.first == no_frame) return false;
  give_up_before(age_.first, counts_.missed_by_need, now);
  return true;
}

bool Order::on_time(Instant now) {
  bool has_work = false;
  while (next_due() <= now) {
    give_up_before(age_.first, counts_.missed_by_time, now);
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

// The sink may give the frame back to the table at once, so it is told last.
void Order::release(uint32_t index, Instant now) {
  forget(index);
  sink_.on_released(index, now);
}

void Order::forget(uint32_t index) {
  Frame& frame = frames_.at(index);
  unlink(bucket_of(frame).held, &Frame::in_bucket, index);
  unlink(age_, &Frame::in_age, index);
  unlink(slot_of(frame.parsed), &Frame::in_slot, index);
  frame.is_held = false;
  --counts_.held;
}

void Order::link(Row& row, FrameLinks Frame::* links, uint32_t index, uint32_t before) {
  FrameLinks& own = frames_.at(index).*links;
  own.before = before;
  own.after = before == no_frame ? row.first : (frames_.at(before).*links).after;
  (own.before == no_frame ? row.first : (frames_.at(own.before).*links).after) = index;
  (own.after == no_frame ? row.last : (frames_.at(own.after).*links).before) = index;
}

void Order::unlink(Row& row, FrameLinks Frame::* links, uint32_t index) {
  const FrameLinks own = frames_.at(index).*links;
  (own.before == no_frame ? row.first : (frames_.at(own.before).*links).after) = own.after;
  (own.after == no_frame ? row.last : (frames_.at(own.after).*links).before) = own.before;
}

}  // namespace cw::gateway
