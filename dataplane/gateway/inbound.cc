#include "dataplane/gateway/inbound.h"

#include <algorithm>
#include <string>
#include <utility>

#include "dataplane/base/assert.h"

namespace cw::gateway {
namespace {

constexpr uint64_t memory_bytes_max = uint64_t{1} << 40;  // more than a machine has

uint32_t slot_frames_max(const SlotReaderOptions& slots) {
  constexpr uint32_t bytes_min = frame_header_bytes + frame_ip_bytes_min;
  return slots.payload_bytes_max / bytes_min + 1;
}

}  // namespace

uint64_t InboundOptions::memory_bytes() const {
  // Per slot: its payload, what the reader keeps of it, and its row in the order.
  const uint64_t slot_bytes = slots.payload_bytes_max + 32;
  return slots.messages * uint64_t{slots.data_slots_max} * slot_bytes + frames_max * sizeof(Frame) +
         bucket_count * 28;
}

Result<std::unique_ptr<Inbound>> Inbound::make(const InboundOptions& options, Receives& receives,
                                               Release& release, Drops& drops) {
  const uint64_t bytes = options.slots.messages * options.slots.message_bytes();
  // Not touched before a slot arrives there.
  LargeMemory memory;
  if (bytes <= memory_bytes_max) memory = make_large_memory(bytes);
  if (!memory) {
    return failure("no memory for " + std::to_string(options.slots.messages) + " messages of " +
                   std::to_string(options.slots.message_bytes()) +
                   " bytes to arrive in; lower `messages` or `message`, or add memory");
  }
  return std::unique_ptr<Inbound>(
      new Inbound(options, std::move(memory), receives, release, drops));
}

Inbound::Inbound(const InboundOptions& options, LargeMemory memory, Receives& receives,
                 Release& release, Drops& drops)
    : frames_low_(options.frames_max / 8),
      memory_(std::move(memory)),
      release_(release),
      out_(*this, options.frames_max),
      drops_(drops),
      frames_(options.frames_max),
      order_({.messages = options.slots.messages,
              .data_slots_max = options.slots.data_slots_max,
              .slot_frames_max = slot_frames_max(options.slots),
              .hold = options.hold,
              .first_seq = options.first_seq,
              .first_message = options.first_message},
             frames_, *this),
      reader_(options.slots,
              {memory_.get(), options.slots.messages * options.slots.message_bytes()}, receives,
              *this, drops) {}

void Inbound::on_reset(Instant) {
  release_.forget(out_);
  order_.reset([&](uint32_t frame) { on_refused(frame, DropReason::epoch_over); });
  reader_.on_reset();
  CW_ASSERT(frames_.lent_count() == 0);
}

bool Inbound::on_time(Instant now) {
  const bool has_given_up = order_.on_time(now);
  return reader_.on_time(now) || has_given_up;
}

Instant Inbound::next_due() const { return std::min(order_.next_due(), reader_.next_due()); }

void Inbound::rebase(Duration shift) {
  order_.rebase(shift);
  reader_.rebase(shift);
}

InboundAccounts Inbound::accounts() const {
  InboundAccounts all = accounts_;
  const OrderCounts& order = order_.counts();
  all.held = order.held;
  all.queued = frames_.lent_count() - order.held;
  all.missed_exactly = order.missed_exactly;
  all.missed_by_time = order.missed_by_time;
  all.missed_by_need = order.missed_by_need;
  all.stalled_slots = reader_.stalled_slot_count();
  all.given_up = reader_.given_up_count();
  all.unheard_messages = reader_.unheard_count();
  return all;
}

// ---- the reader tells ---------------------------------------------------------------------------

// What is given up early leaves the table by and by, at the pace of the LAN; so it is early.
Frame* Inbound::try_take(Instant now) {
  ++accounts_.seen;
  if (frames_.free_count() <= frames_low_) order_.give_up_oldest(now);
  Frame* const frame = frames_.try_take();
  if (frame == nullptr) {
    drops_.add(DropReason::hold_memory);
    count_drop(DropReason::hold_memory);
    return nullptr;
  }
  frame->is_held = false;
  return frame;
}

void Inbound::on_frame(Frame& frame, Instant now) {
  order_.take(static_cast<uint32_t>(frames_.index_of(&frame)), now);
}

// ---- the order tells ----------------------------------------------------------------------------

void Inbound::on_released(uint32_t frame, Instant) {
  release_.push(out_, frame, frames_.at(frame).parsed);
}

void Inbound::on_refused(uint32_t frame, DropReason reason) {
  drops_.add(reason);
  on_dropped(frame, reason);
}

// ---- the LAN tells ------------------------------------------------------------------------------

void Inbound::copy(uint32_t frame, uint8_t* out) { reader_.copy(frames_.at(frame).parsed, out); }

void Inbound::on_out(uint32_t frame) {
  ++accounts_.out;
  give_back(frame);
}

void Inbound::on_dropped(uint32_t frame, DropReason reason) {
  count_drop(reason);
  give_back(frame);
}

void Inbound::give_back(uint32_t frame) {
  reader_.done(frames_.at(frame).parsed);
  frames_.give_back(&frames_.at(frame));
}

}  // namespace cw::gateway
