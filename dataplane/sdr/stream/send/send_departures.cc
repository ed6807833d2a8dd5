// The wire's half of a sending stream: tickets become packets, departures become facts, and what
// the receiver must know of a message becomes records.
#include <algorithm>

#include "dataplane/base/assert.h"
#include "dataplane/sdr/stream/repeat_after.h"
#include "dataplane/sdr/stream/send/send_stream.h"
#include "dataplane/wire/roce_inline.h"

namespace cw::sdr {
namespace {

constexpr Duration probe_interval_max = Duration::from_s(1);
constexpr uint8_t probe_doublings_max = 20;

Counter counter_of(uint8_t kind) {
  if (kind == CW_SEND_DATA) return Counter::data_sent;
  return kind == CW_SEND_REPAIR ? Counter::repairs_sent : Counter::resends_sent;
}

uint64_t& count_of(uint8_t kind, SentSlots& sent) {
  if (kind == CW_SEND_DATA) return sent.data;
  return kind == CW_SEND_REPAIR ? sent.repairs : sent.resends;
}

}  // namespace

// ---- the pacer ----

uint16_t SendStream::life_of(MessageSeq seq) const {
  const uint32_t life = lives_over_[config_.place_of(seq)] + config_.round_of(seq);
  return static_cast<uint16_t>(life & SendTicket::life_mask);
}

SendStream::Message* SendStream::find_ticket(const SendTicket& ticket) {
  if (ticket.place >= config_.messages) return nullptr;
  Message& message = messages_[ticket.place];
  const bool is_wanted = message.life != Message::Life::Free && message.is_told &&
                         life_of(message.seq) == ticket.life && !message.is_retired &&
                         message.status == MessageStatus::Open;
  return is_wanted ? &message : nullptr;
}

Instant SendStream::drop_after(const Message& message, const SendRange& range, Instant now) const {
  if (!store_.is_by_slot() || range.kind == CW_SEND_REPAIR) return range.drop_after;
  return std::min(range.drop_after, hold_end(message, range.first, now));
}

/// How many slots of the range, from its first on, make packets that differ in their slot only.
uint32_t SendStream::count_alike(const SendRange& range, uint32_t most) const {
  if (range.kind == CW_SEND_REPAIR) return 1;
  return store_.count_alike(range.place, range.first, range.stride, std::min(range.count, most));
}

std::optional<Departure> SendStream::take_ready(Priority priority, Instant now,
                                                const RowLimit& most) {
  while (!outbox_.is_empty(priority)) {
    const SendRange& range = outbox_.front(priority);
    const SendTicket ticket{.slot = range.first,
                            .place = range.place,
                            .qp = config_.qp,
                            .life = range.life,
                            .kind = range.kind,
                            .path_choice = range.path_choice,
                            .path = range.path};
    const Message* message = find_ticket(ticket);
    if (message == nullptr) {
      outbox_.drop_front(priority);
      continue;
    }
    if (ticket.slot < message->expired_end) {
      outbox_.advance(priority, 1);
      continue;
    }
    const auto payload = static_cast<uint32_t>(store_.bytes_of(ticket.place, ticket.slot).size());
    if (payload == 0) {  // settled since
      outbox_.advance(priority, 1);
      continue;
    }
    const uint32_t bytes = slot_write_header_bytes + payload + pad_bytes_for(payload);
    const Departure departure{.cookie = ticket.packed(),
                              .cookie_step = range.stride,
                              .count = count_alike(range, most.packets_of(bytes)),
                              .bytes = bytes,
                              .priority = priority,
                              .not_before = range.not_before,
                              .drop_after = drop_after(*message, range, now)};
    outbox_.advance(priority, departure.count);
    return departure;
  }
  return std::nullopt;
}

bool SendStream::try_make(const SendTicket& ticket, Instant departed, Instant now, Send& send) {
  Message* message = find_ticket(ticket);
  if (message == nullptr) return false;
  const auto payload = store_.bytes_of(ticket.place, ticket.slot);
  if (payload.empty() || ticket.slot < message->expired_end) return false;
  const auto channel = config_.channel_of(ticket.slot);
  uint8_t& last_path = store_.last_path(ticket.place, ticket.slot);
  const uint16_t path = transmitter_.choose(ticket.path_choice, ticket.path, last_path);
  last_path = static_cast<uint8_t>(path);
  const Psn psn = transmitter_.take_psn(channel, path);
  send.path = path;
  store_.lend(ticket.place, ticket.slot, payload, send);
  describe(ticket, psn, send);
  counters_.add(counter_of(ticket.kind));
  ++count_of(ticket.kind, sent_);
  bool is_first = ticket.kind == CW_SEND_DATA;
  if (store_.is_by_slot() && !ticket.is_repair()) is_first = try_take_off(*message, ticket.slot);
  if (is_first) ++message->departed;
  if (is_first && store_.is_by_slot()) {
    sent_.waits.add(departed - store_.appended(ticket.place, ticket.slot, now));
  }
  if (is_first && is_close_due(*message)) schedule_state(*message, now);
  const SentRun one{.place = ticket.place,
                    .life = ticket.life,
                    .kind = ticket.kind,
                    .first = ticket.slot,
                    .count = 1,
                    .stride = 1,
                    .psn_first = psn,
                    .departed = departed};
  sent_runs_.add(path, one, [&](uint16_t of, const SentRun& run) { tell_sent(of, run, now); });
  return true;
}

/// Where the slot goes at the receiver; the window begins with the slot itself.
Window SendStream::window_of(const Message& message, const SendTicket& ticket) const {
  const bool is_repair = ticket.is_repair();
  const uint32_t first = is_repair ? config_.data_slots_max : 0;
  if (address_.has_placements) {
    const Placement& at = placements_[ticket.place];
    const uint64_t offset = uint64_t{ticket.slot - first} * config_.landing_bytes();
    return is_repair ? Window{at.repair_address.host() + offset, at.repair_key.host()}
                     : Window{at.data_address.host() + offset, at.data_key.host()};
  }
  const uint64_t offset = uint64_t{ticket.slot - first} * config_.payload_bytes;
  return is_repair ? Window{address_.repair_at(message.seq, offset), address_.repair_key}  // [C-55]
                   : Window{address_.data_at(message.seq, offset), address_.data_key};
}

/// What its headers say; where its payload lies is known.
void SendStream::describe(const SendTicket& ticket, Psn psn, Send& send) const {
  const Message& message = messages_[ticket.place];
  const auto& immediate = message.hint.immediate;
  const uint32_t user = immediate ? config_.split.fragment(*immediate, ticket.slot) : 0;
  send.form = Form::Write;
  send.head.target_qp = address_.qpn_of(config_, config_.generation_of(message.seq),
                                        config_.channel_of(ticket.slot), send.path);
  send.head.psn = psn;
  const Window window = window_of(message, ticket);
  send.head.address = window.address;
  send.head.key = window.key;
  send.head.immediate = config_.split.pack({ticket.place, ticket.slot, user});
  // Tells the receiver that the user bits mean something (SPEC 7.3).
  send.head.is_solicited = immediate.has_value();
  const SlotStore::Marks marks = store_.marks_of(ticket.place, ticket.slot, message.slots - 1);
  send.ecn = marks.ecn;
  send.dscp = marks.dscp;
}

void SendStream::on_expired(const SendTicket& ticket) {
  const Message* message = find_ticket(ticket);
  if (message == nullptr) return;
  counters_.add(Counter::sends_expired);
  if (ticket.slot < message->expired_end) return;  // the policy has been told
  cw_send send{};
  send.message = message->seq.value();
  send.first = ticket.slot;
  send.count = send.stride = 1;
  refuse(send, CW_REFUSED_EXPIRED);
}

void SendStream::tell_sent(uint16_t path, const SentRun& run, Instant now) {
  const SendTicket ticket{.place = run.place, .life = run.life};
  const Message* message = find_ticket(ticket);
  if (message == nullptr) return;
  PolicyHost& host = seat_->of(message->seq);
  host.sent({.message = message->seq.value(),
             .first = run.first,
             .count = run.count,
             .stride = run.stride,
             .psn_first = run.psn_first.value(),
             .path = path,
             .kind = run.kind,
             .departed_ns = run.departed.ns(),
             .state = host.state_of(run.place)},
            now);
}

void SendStream::flush_facts(Instant now) {
  sent_runs_.flush_all([&](uint16_t path, const SentRun& run) { tell_sent(path, run, now); });
  seat_->settle(now);
}

// ---- state for the receiver ----

bool SendStream::is_close_due(const Message& message) const {
  // Not before the last data slot has left: the receiver takes a hole below CLOSED for a loss. Of a
  // message that is settled none will: it was sent again before it was its turn.
  const bool is_settled = message.status != MessageStatus::Open;
  return message.is_close_told && (is_settled || message.departed >= message.slots);
}

// All of it is there, but the receiver, who may not know so yet, could still end without it.
bool SendStream::is_unheard(const Message& message) const {
  return message.status == MessageStatus::Done && !message.is_retired &&
         !message.seq.is_before(heard_seq_);
}

void SendStream::schedule_state(Message& message, Instant at) {
  message.state_due = at;
  message.repeats = 0;
  records_due_ = std::min(records_due_, at);
}

bool SendStream::try_write_abandoned(const Message& message, EnvelopeWriter& writer) const {
  Abandoned record;
  record.qp = config_.qp;
  record.reason = !message.is_abandoned ? AbandonReason::Hold
                  : message.is_drained  ? AbandonReason::Drain
                                        : AbandonReason::Finished;
  record.seq = message.seq;
  record.slots = message.is_abandoned ? slots_unknown : message.expired_end;
  return writer.try_add(record);
}

bool SendStream::try_write_state(const Message& message, EnvelopeWriter& writer) const {
  if (is_close_due(message)) {
    Closed record;
    record.qp = config_.qp;
    record.flags = message.hint.immediate ? Closed::has_immediate : 0;
    record.seq = message.seq;
    record.slots = message.slots;
    record.frames = message.frames;
    record.message_bytes = message.bytes;
    record.immediate = message.hint.immediate.value_or(0);
    return writer.try_add(record);
  }
  Opened record;
  record.qp = config_.qp;
  record.seq = message.seq;
  record.data_slots_max = config_.data_slots_max;
  record.slots = message.life == Message::Life::Closed ? message.slots : slots_unknown;
  const BlockShape& shape = shape_of(message);
  record.rows = shape.rows;
  record.k = shape.k;
  record.m_cap = shape.m_cap;
  return writer.try_add(record);
}

bool SendStream::is_blocked() const {
  return told_seq_.is_before(next_seq_) || retired_seq_.is_before(told_seq_);
}

Instant SendStream::offer_due() const {
  return is_started_ && is_blocked() ? std::min(records_due_, probe_due_) : records_due_;
}

void SendStream::schedule_probe(Instant now) {
  // After one RTT, then twice as long each time, up to a second [C-34].
  const Duration interval = std::min(rtt_ * (int64_t{1} << probes_), probe_interval_max);
  probe_due_ = now + std::max(rtt_, interval);
}

bool SendStream::offer(EnvelopeWriter& writer, Instant now) {
  if (!is_started_ || offer_due() > taken_along(now, rtt_)) return true;
  Instant next = Instant::never();
  for (MessageSeq seq = retired_seq_; seq.is_before(told_seq_); ++seq) {
    Message& message = messages_[config_.place_of(seq)];
    if (message.seq != seq || message.is_retired) continue;
    const bool has_gone = message.is_abandoned || message.expired_end > 0;
    const bool is_heard = seq.is_before(heard_seq_);
    if (is_heard && !has_gone) message.state_due = Instant::never();
    // What is said again soon goes with what is said now, and is said as often as if it had not.
    if (message.state_due <= (message.repeats > 0 ? taken_along(now, rtt_) : now)) {
      const bool is_state_due = !is_heard && !message.is_abandoned;
      if (is_state_due && !try_write_state(message, writer)) return false;
      if (has_gone && !try_write_abandoned(message, writer)) return false;
      if (is_state_due && !try_write_blocks(message, writer, now)) return false;
      message.state_due = std::max(message.state_due, now) + repeat_after(rtt_, message.repeats);
      if (message.repeats < UINT8_MAX) ++message.repeats;
      message.state_told = now;
    }
    next = std::min(next, message.state_due);
  }
  if (is_blocked() && probe_due_ <= now) {
    Probe probe;
    probe.qp = config_.qp;
    probe.next_seq = next_seq_;
    if (!writer.try_add(probe)) return false;
    counters_.add(Counter::probes_sent);
    if (probes_ < probe_doublings_max) ++probes_;
    schedule_probe(now);
  }
  records_due_ = next;
  return true;
}

}  // namespace cw::sdr
