#include "policies/parts/endpoint/receiver.h"

#include <cstddef>
#include <utility>

namespace cw::policy {
namespace {

/// Whether the core tells round trips of peers.
bool tells_rtt(const cw_env& env) {
  return env.size >= offsetof(cw_env, reserved) && env.abi >= (2u << 16 | 2u);
}

}  // namespace

Receiver::Receiver(const cw_env& env)
    : env_(env),
      messages_(env),
      steps_(env),
      due_(env, env.messages),
      steps_due_(env, env.messages),
      whole_(env, 2 * size_t{env.messages}) {
  timing_.rate = Rate::from_bps(std::max<uint64_t>(env.rate_bps, 1));
}

bool Receiver::is_ready() const {
  return messages_.is_ready() && steps_.is_ready() && due_.is_ready() && steps_due_.is_ready() &&
         whole_.is_ready();
}

// ---- facts ----

void Receiver::on_opened(const cw_fact_opened& fact, Instant now) {
  OpenMessage& message = *state_of<OpenMessage>(fact);
  message.sequence = fact.message;
  message.received.slots = fact.slots;
  message.heard_at = now;
  messages_.try_add(fact.message, &message);
  settle(message, now);
}

void Receiver::on_step(const cw_fact_step& fact, Instant now) {
  OpenMessage* const message = state_of<OpenMessage>(fact);
  if (message != nullptr) begin(*message, fact, now);
  OpenStep* const step = message != nullptr ? message->step : steps_.find(fact.step);
  if (step == nullptr) return;
  if (message == nullptr || !step->is_told) {
    step->is_told = message == nullptr;
    step->expected_bytes = fact.expected_bytes;
    step->received_bytes = fact.received_bytes;
    step->rate = Rate::from_bps(std::max<uint64_t>(fact.rate_bps, 1));
    step->deadline = Instant::from_ns(fact.deadline_ns);
    step->sources = fact.sources;
    step->sources_done = fact.sources_done;
  }
  // What is still to come has changed, and with it how long one may wait for who is silent.
  if (!step->silent.is_empty()) attend_step(*step, now);
}

void Receiver::begin(OpenMessage& message, const cw_fact_step& fact, Instant now) {
  message.peer = fact.peer;
  message.expected_bytes = fact.expected_bytes;
  if (tells_rtt(env_)) {
    message.rtt = Duration::from_ns(std::max<int64_t>(fact.rtt_ns, 0));
    message.rtt_var = Duration::from_ns(std::max<int64_t>(fact.rtt_var_ns, 0));
  }
  if (message.step != nullptr || message.is_over) return;
  message.step = &steps_.join(fact.step, now);
  if (message.is_heard) return look_at(message, now);
  message.is_silent = true;
  message.step->silent.push(message);
}

void Receiver::on_arrived(const cw_fact_arrived& fact, Instant now) {
  OpenMessage& message = *state_of<OpenMessage>(fact);
  if (message.is_over) return;
  const uint32_t highest_before = message.received.highest;
  const bool had_end = message.received.slots != CW_UNKNOWN;
  message.received.on_arrived(fact);
  hear(message, now);
  if (!had_end && message.received.slots != CW_UNKNOWN) on_end_known(message);
  on_heard(message, fact, highest_before, now);
  settle(message, now);
}

void Receiver::on_departed(const cw_fact_departed& fact, Instant now) {
  OpenMessage& message = *state_of<OpenMessage>(fact);
  if (message.is_over || fact.slots == 0 || !hears_departed(message, fact, now)) return;
  hear(message, now);
  settle(message, now);
}

void Receiver::on_closed(const cw_fact_closed& fact, Instant now) {
  OpenMessage& message = *state_of<OpenMessage>(fact);
  if (message.is_over) return;
  message.received.on_closed(fact.slots);
  on_end_known(message);
  settle(message, now);
}

void Receiver::on_expired(const cw_fact_expired& fact, Instant now) {
  OpenMessage& message = *state_of<OpenMessage>(fact);
  if (message.is_over) return;
  const uint64_t end = uint64_t{fact.first} + fact.count;
  message.received.on_expired(
      {fact.first, static_cast<uint32_t>(std::min<uint64_t>(end, env_.data_slots_max))});
  settle(message, now);
}

void Receiver::on_refused(const cw_fact_refused& fact, Instant now) {
  // A refusal for quota comes without a state.
  OpenMessage* const message = messages_.find(fact.message);
  if (fact.decision != CW_DECIDE_ASK || message == nullptr || message->is_over) return;
  const bool may_be_later = fact.reason == CW_REFUSED_FULL || fact.reason == CW_REFUSED_QUOTA;
  on_ask_refused(*message, fact, !may_be_later, now);
  look_at(*message, now);
}

void Receiver::on_link(const cw_fact_link& fact, Instant) { timing_ = EndpointTiming::from(fact); }

void Receiver::on_timer(uint64_t, Instant) { armed_at_ = Instant::never(); }

void Receiver::on_ended(uint32_t sequence, void* state, Instant) {
  OpenMessage& message = *static_cast<OpenMessage*>(state);
  if (!message.is_over) on_over(message);
  messages_.remove(sequence);
  due_.remove(message);
  leave_silent(message);
  if (message.is_waiting) waiting_.remove(message);
  if (message.step != nullptr) steps_.leave(*message.step);
}

// ---- messages ----

void Receiver::hear(OpenMessage& message, Instant now) {
  message.is_heard = true;
  message.heard_at = now;
  leave_silent(message);
  if (message.step != nullptr) message.step->heard_at = now;
}

void Receiver::settle(OpenMessage& message, Instant now) {
  if (!message.received.is_complete()) {
    if (message.is_heard && message.step != nullptr) look_at(message, now);
    return;
  }
  message.is_over = true;
  on_over(message);
  due_.remove(message);
  leave_silent(message);
  if (message.is_waiting) waiting_.remove(message);
  message.is_waiting = false;
  whole_.try_push(message.sequence);
}

void Receiver::look_at(OpenMessage& message, Instant now) {
  const Instant due = attend(message, now);
  // One that only moves away is found out when its old time comes.
  if (due < message.due || message.heap_at == 0) due_.set(message, due);
}

void Receiver::wait_for_room(OpenMessage& message) {
  if (message.is_waiting) return;
  message.is_waiting = true;
  waiting_.push(message);
}

// ---- silence ----

void Receiver::leave_silent(OpenMessage& message) {
  if (!message.is_silent) return;
  message.is_silent = false;
  message.step->silent.remove(message);
  if (message.step->silent.is_empty()) steps_due_.remove(*message.step);
}

void Receiver::attend_step(OpenStep& step, Instant now) {
  while (!step.silent.is_empty()) {
    OpenMessage& oldest = *step.silent.first;
    const Instant due = silent_due(step, oldest, now);
    if (due > now) return steps_due_.set(step, due);
    leave_silent(oldest);
    on_silence(oldest);
    look_at(oldest, now);
  }
}

void Receiver::attend_due(Instant now) {
  while (steps_due_.due() <= now) attend_step(steps_due_.front(), now);
  while (due_.due() <= now) {
    OpenMessage& message = due_.front();
    const Instant due = attend(message, now);
    CW_DCHECK(due > now);
    due_.set(message, due);
  }
}

// ---- decisions ----

void Receiver::decide(Instant now, Out& out) {
  if (!finish(out)) return;
  attend_due(now);
  if (!ask_waiting(now, out)) return;
  const Instant due = earliest(due_.due(), steps_due_.due());
  // One that is armed too early finds nothing to do, and is armed again.
  if (due < armed_at_ && out.timer(0, due)) armed_at_ = due;
}

bool Receiver::finish(Out& out) {
  while (!whole_.is_empty()) {
    OpenMessage* const message = messages_.find(whole_.front());
    const bool is_new = message != nullptr && message->is_over && !message->is_finished;
    if (is_new && !out.finish(message->sequence, CW_FINISH_OK)) return false;
    if (is_new) message->is_finished = true;
    whole_.pop();
  }
  return true;
}

// In turns, so that nobody's message is asked for as a whole while others wait.
bool Receiver::ask_waiting(Instant now, Out& out) {
  while (!waiting_.is_empty()) {
    OpenMessage& message = *waiting_.first;
    const Asked asked = ask(message, now, out);
    if (asked == Asked::OutFull) return false;
    if (asked == Asked::NoRoom) break;
    waiting_.remove(message);
    message.is_waiting = false;
    if (asked == Asked::NotAll) wait_for_room(message);
    due_.set(message, attend(message, now));
  }
  return true;
}

}  // namespace cw::policy
