#include "dataplane/sdr/seat/policy_host.h"

#include <algorithm>

namespace cw::sdr {
namespace {

constexpr Duration timer_resolution = Duration::from_us(8);

/// Enough for one timer per message and a few of the instance's own.
size_t timers_for(const cw_env& env) { return 2 * size_t{env.messages} + 64; }

BlockShape shape_of(const cw_env& env) {
  return {.rows = static_cast<uint16_t>(env.rows),
          .k = static_cast<uint8_t>(env.k),
          .m_cap = static_cast<uint16_t>(env.m_cap),
          .blocks = env.m_cap == 0 ? 0 : env.repair_slots_max / env.m_cap};
}

}  // namespace

PolicyHost::PolicyHost(std::unique_ptr<PolicyInstance> instance, const PolicyQuota& quota,
                       Instant now)
    : instance_(std::move(instance)),
      quota_(quota),
      timers_(timers_for(instance_->env()), now, timer_resolution, &memory_),
      timer_handles_(timers_for(instance_->env()), &memory_),
      window_start_(now) {
  shape_ = shape_of(instance_->env());
  layout_ = first_layout();
  out_.decisions = decisions_.get();
  out_.decision_capacity = decisions_per_call;
  out_.note_bytes = note_bytes_.get();
  out_.note_capacity = note_bytes_per_call;
}

std::unique_ptr<PolicyInstance> PolicyHost::begin(std::unique_ptr<PolicyInstance> next,
                                                  Instant now) {
  CW_ASSERT(!is_acting_);
  end_trace(TraceState::Replaced);
  std::swap(instance_, next);
  is_quarantined_ = false;
  clear(now);
  return next;
}

void PolicyHost::begin_trace(std::shared_ptr<PolicyTrace> trace) {
  end_trace(TraceState::Replaced);
  trace_ = std::move(trace);
  trace_->begin(*instance_);
}

void PolicyHost::rest() {
  CW_ASSERT(!is_acting_);
  if (has_instance()) instance_->rest();
  if (timers_.armed_count() > 0 || !refusals_.is_empty()) return;
  timers_.rest();
  memory_.rest();
}

/// Nothing of whoever was here before is left.
void PolicyHost::clear(Instant now) {
  timers_.restart(inside(now));
  timer_handles_.clear();
  refusals_.clear();
  out_.decision_count = out_.note_count = out_.more = 0;
  strikes_ = 0;
  if (instance_ == nullptr) return;
  shape_ = shape_of(instance_->env());
  layout_ = first_layout();
}

cw_layout PolicyHost::first_layout() const {
  const auto m = static_cast<uint8_t>(m_max(shape_.m_cap, shape_.rows, shape_.k));
  return {.codec = 0, .rows = shape_.rows, .k = shape_.k, .m = m};
}

void PolicyHost::ended(uint32_t message, size_t index, Instant now) {
  const EndedFact fact{message, state_of(index)};
  call(fact, now,
       [&](cw_policy* its, int64_t now_ns) { ops().ended(its, message, fact.state, now_ns); });
}

void PolicyHost::opened(cw_fact_opened fact, Instant now) {
  fact.deadline_ns = inside(Instant::from_ns(fact.deadline_ns)).ns();
  tell(ops().opened, fact, now);
}

void PolicyHost::sent(cw_fact_sent fact, Instant now) {
  fact.departed_ns = inside(Instant::from_ns(fact.departed_ns)).ns();
  tell(ops().sent, fact, now);
}

void PolicyHost::link(const cw_fact_link& fact, Instant now) {
  window_ = Duration::from_ns(std::max<int64_t>(fact.rtt_ns, 1));
  {
    const PolicyCall call(*instance_);
    ops().limits(&instance_->env(), &fact, &needs_);
  }
  tell(ops().link, fact, now);
}

void PolicyHost::step(cw_fact_step fact, Instant now) {
  fact.deadline_ns = inside(Instant::from_ns(fact.deadline_ns)).ns();
  tell(ops().step, fact, now);
}

void PolicyHost::departed(cw_fact_departed fact, Instant now) {
  if (fact.answered_ns != 0) fact.answered_ns = inside(Instant::from_ns(fact.answered_ns)).ns();
  tell(ops().departed, fact, now);
}

void PolicyHost::drain(Instant by, Instant now) {
  CW_ASSERT(!is_acting_);
  const DrainFact fact{inside(by).ns()};
  call(fact, now,
       [&](cw_policy* its, int64_t now_ns) { ops().drain(its, fact.by_ns, now_ns, &out_); });
  act(now);
}

void PolicyHost::refuse(const cw_fact_refused& fact) {
  ++refused_count_;
  // When even this queue is full, the policy learns by its timers, as from any other loss.
  (void)refusals_.try_push(fact);
}

void PolicyHost::refuse(const cw_code& code, cw_refusal reason, void* state) {
  cw_fact_refused fact{};
  fact.message = code.message;
  fact.first = code.block;
  fact.count = fact.stride = 1;
  fact.decision = CW_DECIDE_CODE;
  fact.state = state;
  fact.reason = static_cast<uint16_t>(reason);
  refuse(fact);
}

void PolicyHost::settle(Instant now) {
  if (!refusals_.is_empty() && !is_acting_) act(now);
}

// One by one: what a firing decides may move or disarm every other timer, due or not, and may even
// replace the instance.
void PolicyHost::on_time(Instant now) {
  uint64_t due = 0;
  for (size_t fired = 0; fired < timers_per_turn; ++fired) {
    if (timers_.advance(inside(now), {&due, 1}) == 0) return;
    timer_handles_.remove(due);
    call(TimerFact{due}, now,
         [&](cw_policy* its, int64_t now_ns) { ops().timer(its, due, now_ns, &out_); });
    act(now);
  }
}

// Acting on a decision may end in a refusal. It waits until the decisions at hand are done, so that
// no call into the policy ever nests.
void PolicyHost::act(Instant now) {
  CW_ASSERT(!is_acting_);
  is_acting_ = true;
  size_t round = 0;
  for (;; ++round) {
    const bool asks_for_more = out_.more != 0;
    take_decisions(now);
    if (round == rounds_max) break;
    if (!refusals_.is_empty()) {
      const cw_fact_refused fact = refusals_.pop();
      call(fact, now,
           [&](cw_policy* its, int64_t now_ns) { ops().refused(its, &fact, now_ns, &out_); });
    } else if (asks_for_more) {
      call(ResumeFact{}, now,
           [&](cw_policy* its, int64_t now_ns) { ops().resume(its, now_ns, &out_); });
    } else {
      break;
    }
  }
  is_acting_ = false;
  if (round == rounds_max || strikes_ > quota_.strikes_max) quarantine(now);
}

void PolicyHost::take_decisions(Instant now) {
  const uint32_t count = std::min(out_.decision_count, decisions_per_call);
  if (trace_ != nullptr) [[unlikely]]
    trace_->add({decisions_.get(), count}, note_bytes_.get());
  for (uint32_t i = 0; i < count; ++i) act_on(decisions_[i], now);
  out_.decision_count = 0;
  out_.note_count = 0;
  out_.more = 0;
}

void PolicyHost::act_on(const cw_decision& decision, Instant now) {
  if (!is_within_quota(decision, now)) return refuse_decision(decision, CW_REFUSED_QUOTA);
  switch (decision.kind) {
    case CW_DECIDE_SEND:
      return act_on_send(decision, now);
    case CW_DECIDE_CODE:
      return act_on_code(decision.u.code, now);
    case CW_DECIDE_NOTE: {
      const auto bytes = note_bytes_of(decision.u.note, note_bytes_.get());
      if (bytes) actions_->on_note(decision.u.note, *bytes, policy_epoch_);
      return;
    }
    case CW_DECIDE_TIMER:
      return set_timer(decision.u.timer, now);
    case CW_DECIDE_RELEASE:
      if (decides_for(decision.u.release.message)) actions_->on_release(decision.u.release, now);
      return;
    case CW_DECIDE_FINISH:
      if (decides_for(decision.u.finish.message)) actions_->on_finish(decision.u.finish, now);
      return;
    case CW_DECIDE_LAYOUT:
      return set_layout(decision.u.layout);
    case CW_DECIDE_ASK:
      if (!actions_->try_ask(decision.u.ask, now)) refuse_decision(decision, CW_REFUSED_SEAT);
      return;
    default:
      ++refused_count_;
  }
}

void PolicyHost::act_on_send(const cw_decision& decision, Instant now) {
  const cw_send& send = decision.u.send;
  if (!decides_for(send.message)) return refuse_decision(decision, CW_REFUSED_MESSAGE);
  if (send.not_before_ns == 0 && send.drop_after_ns == 0) return actions_->on_send(send, now);
  // Zero says none of either.
  const auto moved_ns = [&](int64_t ns) {
    return ns == 0 ? ns : outside(Instant::from_ns(ns)).ns();
  };
  cw_send moved = send;
  moved.not_before_ns = moved_ns(send.not_before_ns);
  moved.drop_after_ns = moved_ns(send.drop_after_ns);
  actions_->on_send(moved, now);
}

void PolicyHost::act_on_code(const cw_code& code, Instant now) {
  if (!decides_for(code.message)) return refuse(code, CW_REFUSED_MESSAGE, nullptr);
  actions_->on_code(code, now);
}

void PolicyHost::set_layout(const cw_layout& layout) {
  const bool has_codec = layout.codec < instance_->env().codecs;
  const bool is_shape = layout.rows >= 1 && layout.rows <= shape_.rows && layout.k >= 1 &&
                        layout.k <= shape_.k &&
                        layout.m <= m_max(shape_.m_cap, layout.rows, layout.k);
  if (has_codec && is_shape) {
    layout_ = layout;
    return;
  }
  cw_fact_refused fact{};
  fact.message = CW_UNKNOWN;
  fact.decision = CW_DECIDE_LAYOUT;
  fact.reason = has_codec ? CW_REFUSED_RANGE : CW_REFUSED_CODEC;
  refuse(fact);
}

bool PolicyHost::is_within_quota(const cw_decision& decision, Instant now) {
  if (now - window_start_ >= window_) {
    strikes_ = window_exceeded_ ? strikes_ + 1 : 0;
    window_exceeded_ = false;
    window_decisions_ = window_notes_ = 0;
    window_start_ = now;
  }
  const bool is_note = decision.kind == CW_DECIDE_NOTE;
  const uint32_t notes_max = std::max(needs_.notes_per_rtt, 16u);
  const bool is_within = ++window_decisions_ <= quota_.decisions_per_rtt &&
                         (!is_note || ++window_notes_ <= std::min(notes_max, quota_.notes_per_rtt));
  window_exceeded_ |= !is_within;
  return is_within;
}

void PolicyHost::refuse_decision(const cw_decision& decision, cw_refusal reason) {
  cw_fact_refused fact{};
  fact.message = CW_UNKNOWN;
  fact.decision = static_cast<uint16_t>(decision.kind);
  fact.reason = static_cast<uint16_t>(reason);
  if (decision.kind == CW_DECIDE_SEND) {
    const cw_send& send = decision.u.send;
    fact.message = send.message;
    fact.first = send.first;
    fact.count = send.count;
    fact.stride = send.stride;
  } else if (decision.kind == CW_DECIDE_ASK) {
    const cw_ask& ask = decision.u.ask;
    fact.message = ask.message;
    fact.first = ask.first;
    fact.count = ask.count;
    fact.stride = 1;
  }
  refuse(fact);
}

void PolicyHost::set_timer(const cw_timer& timer, Instant now) {
  if (const TimerHandle* armed = timer_handles_.find(timer.cookie)) {
    timers_.cancel(*armed);
    timer_handles_.remove(timer.cookie);
  }
  if (timer.at_ns == CW_NEVER_NS) return;
  // Never for the turn that arms it: a firing that arms its own timer again would not end.
  const Instant at = std::max(Instant::from_ns(timer.at_ns), inside(now) + Duration::from_ns(1));
  const TimerHandle handle = timers_.arm(timer.cookie, at);
  if (handle.is_none()) {
    cw_decision decision{};
    decision.kind = CW_DECIDE_TIMER;
    return refuse_decision(decision, CW_REFUSED_QUOTA);
  }
  CW_ASSERT(timer_handles_.try_set(timer.cookie, handle));  // as many as are armed
}

void PolicyHost::quarantine(Instant now) {
  if (is_quarantined_ || relief_ == nullptr) return;
  end_trace(TraceState::Quarantined);
  relieved_ = std::exchange(instance_, std::move(relief_));
  is_quarantined_ = true;
  clear(now);
  actions_->on_quarantine(*this, now);
}

}  // namespace cw::sdr
