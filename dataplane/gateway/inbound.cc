#include "dataplane/gateway/inbound.h"

#include <algorithm>
#include <array>
#include <span>
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

Result<std::unique_ptr<Inbound>> Inbound::make(const InboundOptions& options, sdr::Sink sink,
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
  return std::unique_ptr<Inbound>(new Inbound(options, std::move(memory), sink, release, drops));
}

Inbound::Inbound(const InboundOptions& options, LargeMemory memory, sdr::Sink sink,
                 Release& release, Drops& drops)
    : sink_(sink),
      memory_(std::move(memory)),
      buffers_({memory_.get(), options.slots.messages * options.slots.message_bytes()},
               options.slots.message_bytes()),
      frames_(options.frames_max, options.slots.messages, drops),
      rows_(options.slots.messages, options.slots.data_slots_max),
      order_({.messages = options.slots.messages,
              .data_slots_max = options.slots.data_slots_max,
              .slot_frames_max = slot_frames_max(options.slots),
              .hold = options.hold,
              .first_seq = options.first_seq,
              .first_message = options.first_message},
             frames_),
      reader_(options.slots, sink, rows_, frames_, order_, drops),
      release_(release),
      out_(frames_, rows_),
      resets_(sink.reset_count()) {
  sink_.read_along(buffers_);
}

void Inbound::take_news(Instant now) {
  const uint32_t resets = sink_.reset_count();
  if (std::exchange(resets_, resets) != resets) reset();
  std::array<sdr::MessageNews, 16> row;
  while (const size_t count = sink_.take_news(row)) {
    for (const sdr::MessageNews& news : std::span(row).first(count)) {
      reader_.read(news, now);
      let_out();
    }
  }
}

void Inbound::reset() {
  release_.forget(out_);
  order_.reset();
  reader_.reset();
  CW_ASSERT(frames_.lent_count() == 0);
}

/// What waits for nothing more waits for its turn at the LAN.
void Inbound::let_out() {
  for (Ring<uint32_t>& row = order_.released(); !row.is_empty(); row.drop_front()) {
    release_.push(out_, row.front());
  }
}

bool Inbound::on_time(Instant now) {
  if (has_news()) take_news(now);
  const bool has_given_up = order_.on_time(now);
  const bool has_posted = reader_.on_time(now);
  let_out();
  return has_given_up || has_posted;
}

Instant Inbound::next_due() const {
  return has_news() ? Instant() : std::min(order_.next_due(), reader_.next_due());
}

void Inbound::rebase(Duration shift) {
  order_.rebase(shift);
  reader_.rebase(shift);
}

InboundAccounts Inbound::accounts() const {
  InboundAccounts all;
  all.seen = frames_.seen_count();
  all.out = frames_.out_count();
  all.dropped = frames_.dropped();
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

}  // namespace cw::gateway
