#include "dataplane/sdr/stream/send/send_stream.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "dataplane/base/assert.h"
#include "dataplane/wire/roce_inline.h"

namespace cw::sdr {
namespace {

constexpr size_t codes_capacity = 128;

}  // namespace

SendStream::SendStream(const StreamConfig& config, const Options& options, LinkKey link,
                       std::unique_ptr<Seat> seat, CodeDesk& desk, PacketStock& stock,
                       Transmitter& transmitter, TableMemory& tables, Counters& counters)
    : config_(config),
      options_(options),
      seat_(std::move(seat)),
      desk_(desk),
      transmitter_(transmitter),
      counters_(counters),
      messages_(config.messages, &tables),
      store_(config_, options, link, stock, tables),
      blocks_(size_t{config.messages} * config.blocks_max(), &tables),
      codes_(codes_capacity, tables),
      block_age_(options.block_age),
      lives_over_(config.messages),
      outbox_(options.outbox_ranges, config.repair_slots_max > 0, tables),
      notes_(notes_for(config), tables) {
  seat_->set_actions(this);
  begin_sequences();
}

// ---- the application ----

std::optional<SendHandle> SendStream::try_open(const MessageHint& hint) {
  wake_();
  const uint32_t place = config_.place_of(next_seq_);
  Message& message = messages_[place];
  if (message.life != Message::Life::Free || next_seq_ == bound_) return std::nullopt;
  store_.open(place, message.repair_end);
  message = Message{};
  message.seq = next_seq_;
  message.life = Message::Life::Open;
  message.hint = hint;
  deadline_due_ = std::min(deadline_due_, hint.deadline);
  message.needs_telling = needs_telling_ = true;
  ++next_seq_;
  ++live_count_;
  return SendHandle{place, message.seq};
}

Result<void> SendStream::append(SendHandle handle, uint32_t first, std::span<const uint8_t> bytes) {
  wake_();
  Message* message = find(handle);
  if (message == nullptr || message->life != Message::Life::Open) {
    return failure("the message is not open: it was closed, cancelled or belongs to a lost peer");
  }
  const auto lent = store_.lend(handle.place, first, bytes);
  if (!lent) return std::unexpected(lent.error());
  if (*lent == 0) return {};
  message->slots += *lent;
  message->end = std::max(message->end, first + *lent);
  message->bytes += bytes.size();
  message->needs_telling = needs_telling_ = true;
  return {};
}

Result<void> SendStream::close(SendHandle handle, uint32_t frames) {
  wake_();
  Message* message = find(handle);
  if (message == nullptr || message->life != Message::Life::Open) {
    return failure("the message is not open: it was closed, cancelled or belongs to a lost peer");
  }
  if (message->slots != message->end) {
    return failure("the message has holes: " + std::to_string(message->end - message->slots) +
                   " of its " + std::to_string(message->end) + " slots were never appended");
  }
  message->life = Message::Life::Closed;
  message->frames = frames;
  message->needs_telling = needs_telling_ = true;
  return {};
}

MessageStatus SendStream::status(SendHandle handle) const {
  const Message* message = find(handle);
  if (message == nullptr) return MessageStatus::PeerLost;
  return is_unheard(*message) ? MessageStatus::Open : message->status;
}

bool SendStream::is_released(SendHandle handle) const {
  return find(handle) == nullptr ||
         (status(handle) != MessageStatus::Open && !store_.is_read(handle.place));
}

bool SendStream::is_growing(SendHandle handle) const {
  const Message* message = find(handle);
  return message != nullptr && message->life == Message::Life::Open;
}

void SendStream::cancel(SendHandle handle, Instant now) {
  wake_();
  Message* message = find(handle);
  if (message == nullptr || message->status != MessageStatus::Open) return;
  message->has_holes = true;
  settle(*message, MessageStatus::GivenUp, now);
}

void SendStream::forget(SendHandle handle) {
  wake_();
  Message* message = find(handle);
  if (message == nullptr) return;
  message->is_forgotten = true;
  free_if_over(*message);
}

SendStream::Message* SendStream::find(SendHandle handle) {
  return const_cast<Message*>(std::as_const(*this).find(handle));
}

const SendStream::Message* SendStream::find(SendHandle handle) const {
  if (handle.place >= config_.messages) return nullptr;
  const Message& message = messages_[handle.place];
  const bool is_same = message.life != Message::Life::Free && message.seq == handle.seq;
  return is_same && !message.is_forgotten ? &message : nullptr;
}

// ---- the link ----

void SendStream::start(const StreamAddress& address, uint32_t payload_bytes, Instant now) {
  address_ = address;
  config_.payload_bytes = payload_bytes;
  placements_.assign(address.has_placements ? config_.messages : 0, {});
  is_started_ = true;
  needs_telling_ = true;
  probe_due_ = now + rtt_;
}

void SendStream::reset(Instant now) {
  if (!is_started_) return;  // what waits for the first epoch has lost nothing
  is_started_ = false;
  for (uint32_t place = 0; place < config_.messages; ++place) {
    Message& message = messages_[place];
    if (message.life == Message::Life::Free) continue;
    const bool is_lost = message.status == MessageStatus::Open || is_unheard(message);
    if (is_lost) message.status = MessageStatus::PeerLost;
    retire(message, now);
  }
  // A message of the old epoch that its application still holds keeps its place, so sequences begin
  // again below: the handle's own sequence tells them apart as long as it is not reused.
  for (uint32_t& lives : lives_over_) lives += config_.round_of(next_seq_) + 1;
  begin_sequences();
  slot_limit_ = slots_used_ = 0;
  codes_.drop_all();
  blocks_due_ = Instant::never();
  outbox_.clear();
  notes_.clear();
  sent_runs_.clear();
  records_due_ = probe_due_ = hold_due_ = deadline_due_ = Instant::never();
  budget_.forget();
  bound_.reset();
  seat_->end_epoch(now);
}

void SendStream::begin_sequences() {
  next_seq_ = told_seq_ = retired_seq_ = message_limit_ = heard_seq_ = config_.first_seq;
}

void SendStream::on_clear_to_send(const ClearToSend& clear, Instant now) {
  // Absolute and idempotent, but they may overtake each other: nothing ever goes back [C-30].
  bool is_news = false;
  if (retired_seq_.is_before(clear.retired_seq) && !told_seq_.is_before(clear.retired_seq)) {
    retire_below(clear.retired_seq, now);
    is_news = true;
  }
  if (message_limit_.is_before(clear.message_limit)) {
    message_limit_ = clear.message_limit;
    needs_telling_ = is_news = true;
  }
  is_news |= try_take_placements(clear);
  if (clear.slot_limit > slot_limit_) {
    slot_limit_ = clear.slot_limit;
    needs_telling_ = is_news = true;
  }
  if (heard_seq_.is_before(clear.heard_seq) && !told_seq_.is_before(clear.heard_seq)) {
    heard_seq_ = clear.heard_seq;
    is_news = true;
  }
  // An answer that brings nothing new is no reason to ask faster.
  if (is_news) probes_ = 0;
  schedule_probe(now);
}

bool SendStream::try_take_placements(const ClearToSend& clear) {
  if (!address_.has_placements) return false;
  bool is_news = false;
  for (const Placement& placement : clear.placements) {
    const MessageSeq seq(placement.seq.host());
    const bool is_awaited = !seq.is_before(told_seq_) && seq.is_before(message_limit_);
    if (!is_awaited || has_place_there(seq)) continue;
    placements_[config_.place_of(seq)] = placement;
    needs_telling_ = is_news = true;
  }
  return is_news;
}

/// Whether a message's packets have somewhere to go.
bool SendStream::has_place_there(MessageSeq seq) const {
  if (!seq.is_before(message_limit_)) return false;
  if (!address_.has_placements) return true;
  const Placement& placement = placements_[config_.place_of(seq)];
  return placement.data_key.host() != 0 && placement.seq.host() == seq.value();
}

void SendStream::on_note(const Note& note, Instant now) {
  seat_->numbered(note.policy_epoch)
      ->note({.count = static_cast<uint32_t>(note.bytes.size()),
              .reserved = 0,
              .bytes = note.bytes.data()},
             now);
}

void SendStream::on_link(const cw_fact_link& fact, Instant now) {
  rtt_ = Duration::from_ns(std::max<int64_t>(fact.rtt_ns, 1));
  seat_->link(fact, now);
}

void SendStream::on_budget(cw_fact_budget budget, Instant now) {
  budget.slot_credit = slot_credit();
  if (budget_.is_news(budget)) seat_->current().budget(budget, now);
}

void SendStream::on_time(Instant now) {
  if (!is_started_) return;
  if (hold_due_ <= now) expire(now);
  if (deadline_due_ <= now) give_up_late(now);
  if (blocks_due_ <= now) close_old_blocks(now);
  if (needs_telling_) {
    needs_telling_ = false;
    for (MessageSeq seq = retired_seq_; seq.is_before(next_seq_); ++seq) {
      Message& message = messages_[config_.place_of(seq)];
      if (message.seq == seq && message.needs_telling) tell(message, now);
    }
  }
  if (seat_->is_swapping()) go_on_swapping(now);
  seat_->on_time(now);
  code_rows(now);
}

Instant SendStream::next_due() const {
  if (!is_started_) return Instant::never();
  if (needs_telling_ || !codes_.is_idle() || is_swap_due()) return Instant();
  return earliest(seat_->next_due(), hold_due_, deadline_due_, blocks_due_, seat_->drain_by());
}

bool SendStream::is_at_rest() const {
  return live_count_ == 0 && outbox_.is_empty() && notes_.is_empty() && codes_.is_empty();
}

void SendStream::on_done(uint32_t place) {
  wake_();
  store_.on_done(place);
  free_if_over(messages_[place]);
}

// ---- what the policy is told ----

void SendStream::tell(Message& message, Instant now) {
  if (!message.is_told) {
    if (message.seq != told_seq_ || !has_place_there(message.seq)) return;
    tell_opened(message, now);
  }
  message.needs_telling = false;
  if (message.status != MessageStatus::Open) return;
  tell_appended(message, now);
  tell_expired(message, now);
  const bool is_all_told = message.told == message.slots;
  message.needs_telling |= !is_all_told;
  cut_blocks(message, message.life == Message::Life::Closed && is_all_told, now);
  if (message.life == Message::Life::Closed && is_all_told && !message.is_close_told) {
    message.is_close_told = true;
    if (is_close_due(message)) schedule_state(message, now);
    seat_->of(message.seq)
        .closed(
            {.message = message.seq.value(), .slots = message.slots, .state = state_of(message)},
            now);
  }
  settle_if_expired(message, now);
}

void* SendStream::state_of(const Message& message) {
  return seat_->of(message.seq).state_of(place_of(message));
}

void SendStream::tell_opened(Message& message, Instant now) {
  message.is_told = true;
  ++told_seq_;
  PolicyHost& host = seat_->of(message.seq);
  host.zero_state(place_of(message));
  schedule_state(message, now);
  host.opened(opened_fact(message), now);
}

cw_fact_opened SendStream::opened_fact(const Message& message) {
  const MessageHint& hint = message.hint;
  return {.message = message.seq.value(),
          .slots = message.life == Message::Life::Closed ? message.slots : CW_UNKNOWN,
          .state = state_of(message),
          .deadline_ns = hint.deadline.ns(),
          .hint_bytes = hint.expected_bytes,
          .hint_step = hint.step,
          .hint_kind = static_cast<uint16_t>(hint.kind),
          .hint_last = hint.is_last};
}

void SendStream::tell_appended(Message& message, Instant now) {
  for (SendExtent& extent : store_.extents(place_of(message))) {
    // What is too old already uses no credit: it will not leave.
    const uint64_t expired = message.expired_end - std::min(extent.told, message.expired_end);
    const auto count = static_cast<uint32_t>(
        std::min<uint64_t>(extent.count - extent.told, std::max(slot_credit(), expired)));
    if (count == 0) continue;
    const uint32_t first = extent.first + extent.told;
    extent.told += count;
    message.told += count;
    slots_used_ += count;
    // Slot by slot each has its own.
    const bool holds = options_.hold < Duration::max() && !store_.is_by_slot();
    if (holds) message.drop_after = now + options_.hold;
    seat_->of(message.seq)
        .appended({.message = message.seq.value(),
                   .first = first,
                   .count = count,
                   .reserved = 0,
                   .state = state_of(message)},
                  now);
  }
}

void SendStream::settle(Message& message, MessageStatus status, Instant now) {
  if (message.status != MessageStatus::Open) return;
  message.status = status;
  // Also when it was given up while its application still wrote to it, which goes on in the next.
  message.life = Message::Life::Closed;
  stop_waiting(message);
  // From now on no ticket of it is honoured: what is abandoned is not sent again [C-38].
  message.is_abandoned =
      status == MessageStatus::GivenUp && (message.has_holes || message.expired_end == 0);
  schedule_state(message, now);
  free_if_over(message);
}

void SendStream::retire_below(MessageSeq seq, Instant now) {
  for (; retired_seq_.is_before(seq); ++retired_seq_) {
    Message& message = messages_[config_.place_of(retired_seq_)];
    if (message.seq == retired_seq_ && message.life != Message::Life::Free) retire(message, now);
  }
  if (heard_seq_.is_before(seq)) heard_seq_ = seq;
}

void SendStream::retire(Message& message, Instant now) {
  if (message.is_retired) return;
  message.is_retired = true;
  // The receiver may close a message early; for its sender that settles it, whatever its policy
  // has heard [C-31].
  if (message.status == MessageStatus::Open) message.status = MessageStatus::Done;
  stop_waiting(message);
  if (message.is_told) {
    seat_->of(message.seq).ended(message.seq.value(), place_of(message), now);
  }
  message.life = Message::Life::Closed;
  free_if_over(message);
}

void SendStream::free_if_over(Message& message) {
  give_up_slots(message);
  if (!message.is_retired || !message.is_forgotten) return;
  if (store_.is_read(place_of(message))) return;
  message.life = Message::Life::Free;
  store_.close(place_of(message));
  --live_count_;
}

SendStream::Message* SendStream::find_told(uint32_t seq) {
  Message& message = messages_[config_.place_of(MessageSeq(seq))];
  const bool is_it = message.life != Message::Life::Free && message.seq == MessageSeq(seq);
  return is_it && message.is_told && !message.is_retired ? &message : nullptr;
}

// ---- decisions ----

void SendStream::refuse(const cw_send& send, cw_refusal reason) {
  const Message* message = find_told(send.message);
  seat_->of(send.message)
      .refuse({.message = send.message,
               .first = send.first,
               .count = send.count,
               .stride = send.stride,
               .decision = CW_DECIDE_SEND,
               .reason = static_cast<uint16_t>(reason),
               .reserved = 0,
               .state = message ? state_of(*message) : nullptr});
}

void SendStream::on_send(const cw_send& send, Instant now) {
  const Message* message = find_told(send.message);
  if (message == nullptr) return refuse(send, CW_REFUSED_MESSAGE);
  if (message->status != MessageStatus::Open || send.count == 0) return;
  if (!has_range(*message, send) || send.path_choice > CW_CHOOSE_NOT_LAST) {
    return refuse(send, CW_REFUSED_RANGE);
  }
  if (send.path_choice == CW_CHOOSE_ID && !transmitter_.is_up(send.path)) {
    return refuse(send, CW_REFUSED_PATH);
  }
  const Instant drop_after = this->drop_after(*message, send, now);
  if (drop_after < now) return refuse(send, CW_REFUSED_EXPIRED);
  const SendRange range{.place = place_of(*message),
                        .life = life_of(message->seq),
                        .kind = send.kind,
                        .path_choice = send.path_choice,
                        .path = send.path,
                        .first = send.first,
                        .count = send.count,
                        .stride = send.stride,
                        .not_before = Instant::from_ns(send.not_before_ns),
                        .drop_after = drop_after};
  if (!outbox_.try_push(range)) refuse(send, CW_REFUSED_FULL);
}

bool SendStream::has_range(const Message& message, const cw_send& send) const {
  const uint64_t final_slot = send.first + uint64_t{send.stride} * (send.count - 1);
  if (send.stride == 0 || send.kind > CW_SEND_REPAIR) return false;
  return send.kind == CW_SEND_REPAIR ? has_repair(message, send) : final_slot < message.end;
}

Instant SendStream::drop_after(const Message& message, const cw_send& send, Instant now) const {
  const Instant deadline = message.hint.deadline;
  if (send.drop_after_ns != 0) return std::min(Instant::from_ns(send.drop_after_ns), deadline);
  // Slot by slot data has its own; what is made of it is wanted for as long as a slot of today.
  const bool holds =
      store_.is_by_slot() && send.kind == CW_SEND_REPAIR && options_.hold < Duration::max();
  return std::min(holds ? now + options_.hold : message.drop_after, deadline);
}

void SendStream::on_note(const cw_note& note, std::span<const uint8_t> bytes,
                         uint16_t policy_epoch) {
  if (!notes_.try_push(bytes, note.repeat, policy_epoch)) counters_.add(Counter::notes_refused);
}

void SendStream::on_finish(const cw_finish& finish, Instant now) {
  Message* message = find_told(finish.message);
  if (message == nullptr || message->status != MessageStatus::Open) return;
  if (finish.first > message->settled) return;
  const uint64_t end =
      finish.count == CW_UNKNOWN ? uint64_t{message->end} : uint64_t{finish.first} + finish.count;
  message->settled = static_cast<uint32_t>(
      std::max<uint64_t>(message->settled, std::min<uint64_t>(end, message->end)));
  if (finish.status != CW_FINISH_OK) {
    message->has_holes = true;
    if (finish.count == CW_UNKNOWN) return settle(*message, MessageStatus::GivenUp, now);
  }
  if (message->is_close_told && message->settled == message->end) {
    const bool is_whole = !message->has_holes && message->expired_end == 0;
    settle(*message, is_whole ? MessageStatus::Done : MessageStatus::GivenUp, now);
  }
  give_up_slots(*message);
}

}  // namespace cw::sdr
