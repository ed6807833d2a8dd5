#include "dataplane/gateway/to_lan/inbound.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>

#include "dataplane/base/assert.h"

namespace cw::gateway {
namespace {

uint32_t slot_frames_max(const SlotReaderOptions& slots) {
  constexpr uint32_t bytes_min = frame_header_bytes + frame_ip_bytes_min;
  return slots.payload_bytes_max / bytes_min + 1;
}

}  // namespace

Inbound::Inbound(const InboundOptions& options, InboundStock& stock, sdr::Sink sink,
                 Release& release)
    : sink_(sink),
      frames_(stock.frames(), options.slots.messages, stock.drops()),
      rows_(options.slots.messages, options.slots.data_slots_max, stock.rows()),
      order_({.messages = options.slots.messages,
              .data_slots_max = options.slots.data_slots_max,
              .slot_frames_max = slot_frames_max(options.slots),
              .hold = options.hold,
              .first_seq = options.first_seq,
              .first_message = options.first_message},
             frames_, rows_, stock.buckets()),
      reader_(options.slots, sink, rows_, frames_, order_, stock.drops()),
      release_(release),
      out_(frames_, rows_),
      resets_(sink.reset_count()) {
  sink_.read_along(stock.buffers());
  sink_.tell_of_frames(*this);
}

void Inbound::tell(sdr::StreamOutcome& outcome) const {
  outcome.frames_out = frames_.out_count();
  outcome.frames_given_up = reader_.given_up_count();
  outcome.frames_late = frames_.dropped()[DropReason::frame_late];
  outcome.holes = order_.holes();
}

void Inbound::take_news(Instant now) {
  order_.begin_turn(now);
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
  order_.begin_turn(now);
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

bool Inbound::has_waited(Duration time, Instant now) {
  held_back_since_ = out_.has_held_back() ? std::min(held_back_since_, now) : Instant::never();
  return now - held_back_since_ >= time;
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
