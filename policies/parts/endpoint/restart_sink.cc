#include "policies/parts/endpoint/restart_sink.h"

#include <algorithm>

namespace cw::policy {

Instant RestartSink::silent_due(const OpenStep&, const OpenMessage& oldest, Instant) const {
  return oldest.heard_at + timeout_of(oldest);
}

void RestartSink::on_silence(OpenMessage& message) {
  own(message).wants = own(message).is_overdue = true;
}

void RestartSink::on_heard(OpenMessage& message, const cw_fact_arrived& fact, uint32_t, Instant) {
  RestartMessage& it = own(message);
  if (fact.word_count == 0) return;  // copies are no progress
  it.tries = 0;
  it.wants = it.is_overdue = false;
}

Instant RestartSink::hole_due(const RestartMessage& message, Instant now) const {
  const bool has_hole = message.received.highest > message.received.cumulative;
  if (!settings_.is_in_order || !has_hole) return Instant::never();
  return message.was_asked ? message.asked_at + gap_of(message) : now;
}

Instant RestartSink::overdue_at(const RestartMessage& message) const {
  const Duration timeout = timeout_of(message);
  const Duration most = timeout * (int64_t{1} << settings_.doublings);
  const Instant since =
      message.was_asked ? std::max(message.asked_at, message.heard_at) : message.heard_at;
  return since + doubled(timeout, message.tries, most);
}

Instant RestartSink::attend(OpenMessage& message, Instant now) {
  RestartMessage& it = own(message);
  if (it.step == nullptr || it.is_silent) return Instant::never();
  const Instant hole = hole_due(it, now), overdue = overdue_at(it);
  it.is_overdue |= overdue <= now;
  it.wants |= it.is_overdue || hole <= now;
  if (!it.wants) return std::min(hole, overdue);
  wait_for_room(it);
  return Instant::never();  // until it has asked
}

Receiver::Asked RestartSink::ask(OpenMessage& message, Instant now, Out& out) {
  RestartMessage& it = own(message);
  if (!it.wants) return Asked::Enough;
  const Received& received = it.received;
  const bool has_end = received.slots != CW_UNKNOWN;
  if (!out.ask({.message = it.sequence,
                .peer = it.peer,
                .first = received.cumulative,
                .count = has_end ? received.slots - received.cumulative : CW_UNKNOWN})) {
    return Asked::OutFull;
  }
  it.tries += it.is_overdue;
  it.was_asked = true;
  it.wants = it.is_overdue = false;
  it.asked_at = now;
  return Asked::Enough;
}

/// A timeout, or another round trip, and it is asked for again; what was only too much, soon.
void RestartSink::on_ask_refused(OpenMessage& message, const cw_fact_refused&, bool is_hopeless,
                                 Instant now) {
  if (!is_hopeless) own(message).asked_at = now + timing_.rtt / 8 - gap_of(message);
}

}  // namespace cw::policy
