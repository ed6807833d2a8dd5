// A change of policy at the sending end: what is not open yet below the boundary is filled with
// empty messages, so that idle streams and slow ones change too, and what the policy before has not
// settled by its deadline is given up.
#include "dataplane/sdr/stream/send/send_stream.h"

namespace cw::sdr {

bool SendStream::try_begin_swap(Swap& swap, Instant now) {
  wake_();
  if (!is_started_ || swap.boundary.is_before(next_seq_)) return false;
  return seat_->try_begin(swap, now);
}

/// Whether there is something to do for it in this turn, besides what is due at an instant.
bool SendStream::is_swap_due() const {
  if (!seat_->is_swapping()) return false;
  const MessageSeq boundary = seat_->boundary();
  return !retired_seq_.is_before(boundary) || is_filling();
}

/// A program's messages land in the receives that it has posted, one for one: those are not filled.
bool SendStream::is_filling() const {
  return store_.is_by_slot() && next_seq_.is_before(seat_->boundary()) &&
         messages_[config_.place_of(next_seq_)].life == Message::Life::Free;
}

void SendStream::go_on_swapping(Instant now) {
  const MessageSeq boundary = seat_->boundary();
  while (is_filling()) open_empty();
  if (seat_->try_end_drain(now)) give_up_rest(now);
  if (!retired_seq_.is_before(boundary)) seat_->end_swap();
}

/// A message of no slots, which nobody asks about.
void SendStream::open_empty() {
  const auto handle = try_open({});
  CW_ASSERT(handle && close(*handle));
  forget(*handle);
}

void SendStream::give_up_rest(Instant now) {
  for (MessageSeq seq = retired_seq_; seq.is_before(next_seq_); ++seq) {
    Message& message = messages_[config_.place_of(seq)];
    if (!seq.is_before(seat_->boundary()) || message.seq != seq) continue;
    if (message.is_retired || message.status != MessageStatus::Open) continue;
    message.is_drained = message.has_holes = true;
    settle(message, MessageStatus::GivenUp, now);
  }
}

}  // namespace cw::sdr
