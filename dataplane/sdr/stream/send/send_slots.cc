// Messages that grow slot by slot: a gateway's streams, where a slot leaves when its turn ends,
// full or not. And what of any message has become too old.
#include <algorithm>

#include "dataplane/base/assert.h"
#include "dataplane/sdr/stream/send/send_stream.h"

namespace cw::sdr {

bool SendStream::append_slot(SendHandle handle, const SlotPiece& piece, Instant now) {
  wake_();
  CW_ASSERT(store_.is_by_slot());
  Message* message = is_started_ ? find(handle) : nullptr;
  if (message == nullptr || message->life != Message::Life::Open) return false;
  if (message->slots == config_.data_slots_max) return false;
  if (shape_of(*message).is_coded() && message->slots >= slots_covered(*message)) return false;
  CW_ASSERT(piece.bytes > 0 && piece.bytes <= config_.payload_bytes);
  const uint32_t slot = message->slots++;
  store_.put(handle.place, slot, piece, now);
  message->end = message->slots;
  message->bytes += piece.bytes;
  message->waiting_bytes += piece.bytes;
  waiting_bytes_ += piece.bytes;
  // Whatever waits already is older.
  if (hold_due_ == Instant::never()) hold_due_ = hold_end(*message, slot, now);
  message->needs_telling = needs_telling_ = true;
  return true;
}

// ---- packets of slots ----

void SendStream::give_up_slots(Message& message) {
  if (!store_.is_by_slot() || store_.is_coding(place_of(message))) return;
  const uint32_t front = message.unread_front(shape_of(message).is_coded());
  for (; message.given_up < front; ++message.given_up) {
    const uint32_t place = place_of(message);
    // Settled, as its policy says, and has still to leave.
    if (!message.is_over() && !store_.is_off(place, message.given_up)) return;
    store_.give_up(place, message.given_up);
  }
}

void SendStream::on_release(const cw_release& release, Instant) {
  // An application's memory goes back as a whole, by finish. What is released does not grow too
  // old.
  Message* message = find_told(release.message);
  if (message == nullptr) return;
  message->released = std::max(message->released, std::min(release.up_to, message->slots));
  give_up_slots(*message);
}

/// When `slot` is too old to be sent.
Instant SendStream::hold_end(const Message& message, uint32_t slot, Instant now) const {
  if (options_.hold == Duration::max()) return Instant::never();
  return store_.appended(place_of(message), slot, now) + options_.hold;
}

/// Nobody waits any more for this slot to leave. False when nobody did.
bool SendStream::try_take_off(Message& message, uint32_t slot) {
  const uint32_t bytes = store_.take_off(place_of(message), slot);
  if (bytes == 0) return false;
  if (message.is_over()) return true;  // then it waits no more
  message.waiting_bytes -= bytes;
  waiting_bytes_ -= bytes;
  return true;
}

/// Nor for any of this message, which is settled.
void SendStream::stop_waiting(Message& message) {
  waiting_bytes_ -= message.waiting_bytes;
  message.waiting_bytes = 0;
}

// ---- what is too old ----

// When the oldest is due is found out by looking.
void SendStream::set_hold(Duration hold) {
  if (std::exchange(options_.hold, hold) == hold) return;
  wake_();
  hold_due_ = Instant();
}

// Slots were appended in order, so that what is too old lies in front, in the oldest messages.
void SendStream::expire(Instant now) {
  hold_due_ = Instant::never();
  for (MessageSeq seq = retired_seq_; seq.is_before(next_seq_); ++seq) {
    Message& message = messages_[config_.place_of(seq)];
    if (message.seq != seq || message.life == Message::Life::Free || message.is_retired) continue;
    if (message.is_abandoned) continue;  // all of it, whatever its age
    uint32_t front = message.hold_front();
    while (front < message.slots && hold_end(message, front, now) <= now) ++front;
    if (front > message.hold_front()) expire_below(message, front, now);
    if (front == message.slots) continue;
    hold_due_ = hold_end(message, front, now);
    return;
  }
}

void SendStream::expire_below(Message& message, uint32_t end, Instant now) {
  counters_.add(Counter::slots_abandoned, end - message.hold_front());
  sent_.abandoned += end - message.hold_front();
  for (uint32_t slot = message.expired_end; slot < end; ++slot) {
    if (try_take_off(message, slot)) ++message.departed;
  }
  message.expired_end = end;
  give_up_slots(message);
  message.needs_telling = needs_telling_ = true;
  if (!message.is_told) return;
  // At once, but where one slot after the other expires not for each of them.
  message.repeats = 0;
  message.state_due = std::min(message.state_due, std::max(now, message.state_told + rtt_ / 16));
  records_due_ = std::min(records_due_, message.state_due);
}

void SendStream::tell_expired(Message& message, Instant now) {
  const uint32_t first = message.expired_told;
  if (first >= message.expired_end) return;
  message.expired_told = message.expired_end;
  seat_->of(message.seq)
      .expired({.message = message.seq.value(),
                .first = first,
                .count = message.expired_end - first,
                .reserved = 0,
                .state = state_of(message)},
               now);
}

/// A message whose deadline is over before it is settled is of no use to its application: like one
/// that was cancelled, but its policy hears what is not worth mending any more.
void SendStream::give_up_late(Instant now) {
  deadline_due_ = Instant::never();
  for (MessageSeq seq = retired_seq_; seq.is_before(next_seq_); ++seq) {
    Message& message = messages_[config_.place_of(seq)];
    const bool is_open = message.seq == seq && message.life != Message::Life::Free &&
                         message.status == MessageStatus::Open;
    if (!is_open) continue;
    if (message.hint.deadline > now) {
      deadline_due_ = std::min(deadline_due_, message.hint.deadline);
      continue;
    }
    message.has_holes = true;
    settle(message, MessageStatus::GivenUp, now);
    tell_late(message, now);
  }
}

void SendStream::tell_late(const Message& message, Instant now) {
  const uint32_t first = std::max(message.settled, message.expired_told);
  const uint32_t end = told_front(message);
  if (!message.is_told || first >= end) return;
  seat_->of(message.seq)
      .expired({.message = message.seq.value(),
                .first = first,
                .count = end - first,
                .reserved = 0,
                .state = state_of(message)},
               now);
}

/// A message of which nothing is left to repair is over, whatever its policy makes of it.
void SendStream::settle_if_expired(Message& message, Instant now) {
  const bool is_over =
      message.is_close_told && message.expired_end > 0 && message.hold_front() == message.slots;
  if (is_over) settle(message, MessageStatus::GivenUp, now);
}

}  // namespace cw::sdr
