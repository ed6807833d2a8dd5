// A change of policy at the sending end, at a boundary or in quarantine: what is not open yet below
// the boundary is filled with empty messages, so that idle streams and slow ones change too, and
// what the policy before has not settled by its deadline is given up.
#include <algorithm>

#include "dataplane/base/assert.h"
#include "dataplane/sdr/stream/send/send_stream.h"

namespace cw::sdr {
namespace {

constexpr uint32_t lives_apart = 2;  // the lives of places that are open together

}  // namespace

// ---- at a boundary ----

/// So far ahead that the receiver's word is here before it is reached, and so near that places are
/// left for messages beyond it [C-42]. What is not filled up to there begins with the next, if all
/// is done.
MessageSeq SendStream::bind() {
  const bool is_still = !store_.is_by_slot() && retired_seq_ == next_seq_;
  bound_ = is_still ? next_seq_ : next_seq_ + 1 + config_.messages / 2;
  return *bound_;
}

void SendStream::unbind() {
  wake_();
  bound_.reset();
}

bool SendStream::try_begin_swap(const Swap& swap, Instant now) {
  wake_();
  if (!is_started_ || swap.boundary.is_before(next_seq_)) return false;
  if (!seat_->try_begin(swap, now)) return false;
  bound_.reset();
  budget_.forget();  // the next has heard of none
  return true;
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

// ---- in quarantine ----

void SendStream::on_quarantine(PolicyHost& host, Instant now) {
  counters_.add(Counter::policies_quarantined);
  seat_->on_quarantine(host);
  budget_.forget();
  const auto is_its = [&](MessageSeq seq) { return &seat_->of(seq) == &host; };
  outbox_.drop_if([&](const SendRange& range) { return is_its(messages_[range.place].seq); });
  codes_.drop_if([&](const CodeRequest& each) { return is_its(MessageSeq(each.code.message)); });
  for (MessageSeq seq = retired_seq_; seq.is_before(told_seq_); ++seq) {
    Message& message = messages_[config_.place_of(seq)];
    if (message.seq != seq || !is_its(seq)) continue;
    // What waits in the pacer is the old instance's affair: a new life disowns it.
    lives_over_[place_of(message)] += lives_apart;
    if (!message.is_retired && message.status == MessageStatus::Open) tell_again(message, now);
  }
}

/// As if it had just been opened: what is appended and closed is told as credit allows.
void SendStream::tell_again(Message& message, Instant now) {
  PolicyHost& host = seat_->of(message.seq);
  host.zero_state(place_of(message));
  message.is_close_told = false;
  message.settled = message.expired_told = 0;
  // What nobody can send again, the new instance is not to wait for.
  message.expired_end = std::max(message.expired_end, message.given_up);
  message.blocks_told = 0;
  if (!store_.is_by_slot()) message.departed = 0;
  for (SendExtent& extent : store_.extents(place_of(message))) {
    slots_used_ -= extent.told;
    message.told -= extent.told;
    extent.told = 0;
  }
  message.needs_telling = needs_telling_ = true;
  host.opened(opened_fact(message), now);
}

}  // namespace cw::sdr
