#include "dataplane/sdr/line/line.h"

#include <algorithm>

#include "dataplane/base/assert.h"
#include "dataplane/sdr/stream/send/send_stream.h"
#include "dataplane/wire/roce_inline.h"

namespace cw::sdr {
namespace {

/// What waits, waits in the streams' outboxes: the pacer needs room for what it is fed.
PacerOptions fed_by_shares(PacerOptions pacer, uint32_t control_packets) {
  constexpr uint32_t fed = Shares::ahead_packets_max;
  pacer.capacity_packets = {control_packets, fed, fed, fed};
  return pacer;
}

}  // namespace

Line::Line(const LineOptions& options, PortBase& port, TableMemory& tables)
    : port_(port),
      peer_(options.peer),
      payload_bytes_(options.payload_bytes),
      packet_overhead_bytes_(options.pacer.packet_overhead_bytes),
      pacer_(fed_by_shares(options.pacer, control_packets_max), &tables),
      rate_control_(options.rate_control, options.pacer.rate),
      transmitter_(options.paths, options.path_weights),
      shares_(pacer_),
      control_(control_packets_max, &tables) {
  if (options.grants != nullptr) {
    granted_.emplace(*options.grants);
    may_send_ = false;
  }
  apply_rate();
}

Line::~Line() {
  while (!control_.is_empty()) {
    Packet* const packet = control_.pop().packet;
    port_.give_back({&packet, 1});
  }
}

void Line::add(SendStream& stream, uint32_t weight) {
  streams_.push_back(&stream);
  shares_.add(stream, weight);
}

SendStream* Line::find(uint16_t qp) const {
  for (SendStream* each : streams_) {
    if (each->config().qp == qp) return each;
  }
  return nullptr;
}

// ---- rate ----

void Line::begin_epoch() {
  transmitter_.restart_psns();
  if (granted_) granted_->begin_epoch();
}

void Line::come_up(uint32_t payload_bytes) {
  payload_bytes_ = payload_bytes;
  rate_control_.restart(rate_control_.configured());
  apply_rate();
}

void Line::set_rate(Rate rate) {
  rate_control_.restart(rate);
  apply_rate();
}

void Line::change(const PacerOptions& pacer, bool adapts) {
  PacerOptions options = pacer;
  options.rate = pacer_.rate();
  pacer_.change(options);
  rate_control_.set_adapt(adapts);
  if (pacer.rate != rate_control_.configured()) rate_control_.restart(pacer.rate);
  apply_rate();
}

void Line::on_time(Instant now) {
  if (granted_) {
    if (waits()) granted_->hurry(now);
    if (granted_->due() <= now) take_grant(now);
  } else if (rate_control_.on_time(now)) {
    apply_rate();
  }
}

void Line::apply_rate() {
  if (granted_) return;
  Rate rate = rate_control_.rate();
  if (is_beside_) rate = Rate::from_bps(rate.bps() / 4);
  pacer_.set_rate(rate);
  feed_at(rate);
}

bool Line::try_set_beside(bool is_beside) {
  if (std::exchange(is_beside_, is_beside) == is_beside) return false;
  sent_bytes_ = 0;
  apply_rate();
  return true;
}

void Line::pay_for(Line& beside, Instant now) {
  const uint64_t bytes = std::exchange(beside.sent_bytes_, 0);
  if (!granted_ && bytes > 0) pacer_.give_way(bytes, now);
}

void Line::take_grant(Instant now) {
  const bool has_changed = granted_->renew(now);
  may_send_ = granted_->rate() > Rate();
  may_send_until_ = granted_->until();
  if (has_changed && may_send_) {
    pacer_.change_rate(granted_->rate(), now);
    feed_at(granted_->rate());
  }
  if (!shares_.is_empty()) shares_.set_granted(granted_->class_kbps());
  granted_->tell(shares_,
                 {.backlog = pacer_.backlog(now),
                  .envelopes_bytes = pacer_.queued_bytes(Priority::Control).count(),
                  .is_any = waits()},
                 now);
}

void Line::feed_at(Rate rate) {
  shares_.set_rate(rate, static_cast<uint32_t>(slot_write_header_bytes) + payload_bytes_);
}

// Whose grant ended in a pause has nothing to make up for: the time was others'.
void Line::on_pause(Duration pause, Instant now) {
  if (may_send(now)) pacer_.on_pause(pause, now);
}

Instant Line::next_due() const {
  if (!granted_) return std::min(pacer_.next_departure(), rate_control_.next_due());
  const Instant due = granted_->due();
  if (due == Instant::never() && waits()) return Instant();
  return may_send_ ? std::min(pacer_.next_departure(), due) : due;
}

bool Line::waits() const { return !control_.is_empty() || shares_.has_waiting(); }

void Line::on_rtt(uint16_t path, Duration sample, Instant now) {
  if (granted_) return granted_->on_rtt(path, sample);
  rate_control_.on_rtt(path, sample, now);
}

void Line::on_report(uint64_t arrived, uint64_t lost, Instant now) {
  if (granted_) return granted_->on_report(arrived, lost);
  rate_control_.on_report(arrived, lost, now);
}

// ---- packets ----

void Line::push_control(Send send, Instant now) {
  send.peer = peer_;
  CW_ASSERT(control_.try_push(send));
  const SendTicket ticket{.kind = SendTicket::kind_control};
  const Departure departure{.cookie = ticket.packed(),
                            .bytes = transport_bytes(send),
                            .priority = Priority::Control,
                            .not_before = Instant()};
  CW_ASSERT(pacer_.try_push(departure, now));
  if (granted_) granted_->on_envelope(departure.bytes + packet_overhead_bytes_);
}

Line::Collected Line::collect(std::span<Send> out, LeavingRows& rows, Instant now) {
  if (!may_send(now)) return {};
  shares_.feed(now);
  const Collected collected = pacer_.next_departure() > now ? Collected() : depart(out, rows, now);
  for (SendStream* stream : streams_) {
    if (stream->hears_budget()) stream->on_budget(budget(now), now);
  }
  return collected;
}

/// All of it but a stream's credit. What is less than a slot needs is of no use.
cw_fact_budget Line::budget(Instant now) const {
  const uint32_t slot_bytes =
      static_cast<uint32_t>(slot_write_header_bytes) + payload_bytes_ + packet_overhead_bytes_;
  const Duration backlog = pacer_.backlog(now);
  const uint64_t allowance = pacer_.overhead_allowance().count();
  return {.backlog_ns = rate().bytes_in(backlog).count() < slot_bytes ? 0 : backlog.ns(),
          .slot_credit = 0,
          .repair_bytes = allowance < slot_bytes ? 0 : allowance};
}

Line::Collected Line::depart(std::span<Send> out, LeavingRows& rows, Instant now) {
  const size_t room = std::min(out.size(), limits::burst_packets_max);
  const Pacer::Counts counts =
      pacer_.depart(now, std::span(rows.departed).first(room), rows.expired);
  Collected collected;
  uint64_t bytes = 0;
  for (size_t i = 0; i < counts.departed; ++i) {
    const SendTicket ticket = SendTicket::unpacked(rows.departed[i].cookie);
    const bool is_control = ticket.kind == SendTicket::kind_control;
    SendStream* const stream = is_control ? nullptr : find(ticket.qp);
    if (!is_control && stream == nullptr) continue;
    Send& send = out[collected.sends];
    if (is_control) {
      send = control_.pop();
    } else if (!stream->try_make(ticket, rows.departed[i].at, now, send)) {
      continue;
    }
    send.at = rows.departed[i].at;
    send.peer = peer_;
    // Control is a part of what data costs.
    bytes += transport_bytes(send) + packet_overhead_bytes_;
    ++collected.sends;
    collected.slots += is_control ? 0 : 1;
  }
  sent_bytes_ += bytes;
  if (granted_) {
    granted_->on_sent(collected.slots, bytes);
  } else {
    rate_control_.on_sent(collected.slots, bytes);
  }
  for (size_t i = 0; i < counts.expired; ++i) {
    const SendTicket ticket = SendTicket::unpacked(rows.expired[i]);
    if (SendStream* stream = find(ticket.qp)) stream->on_expired(ticket);
  }
  for (SendStream* stream : streams_) stream->flush_facts(now);
  return collected;
}

}  // namespace cw::sdr
