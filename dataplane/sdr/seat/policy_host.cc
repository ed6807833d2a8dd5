#include "dataplane/sdr/seat/policy_host.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "dataplane/base/assert.h"

namespace cw::sdr {
namespace {

/// Enough for one timer per message and a few of the instance's own.
size_t timers_for(const cw_env& env) { return 2 * size_t{env.messages} + 64; }

/// Fills an empty function with one that does nothing, whatever its arguments.
template <class... Arguments>
void fill(void (*&function)(Arguments...)) {
  if (function == nullptr) function = +[](Arguments...) {};
}

}  // namespace

Result<cw_policy_ops> complete_policy_table(const cw_policy_ops& ops) {
  const std::string name = ops.name == nullptr ? "(nameless)" : ops.name;
  if (ops.abi >> 16 != CW_POLICY_ABI_MAJOR) {
    return failure("policy " + name + " speaks ABI " + std::to_string(ops.abi >> 16) +
                   ", this program " + std::to_string(CW_POLICY_ABI_MAJOR) +
                   ": build it against this version's policy.h");
  }
  // Fields that the policy did not know of yet stay zero and get their defaults below.
  cw_policy_ops table{};
  std::memcpy(&table, &ops, std::min<size_t>(ops.size, sizeof(table)));
  if (table.create == nullptr || table.destroy == nullptr) {
    return failure("policy " + name + " has no create or no destroy function");
  }
  fill(table.limits);
  fill(table.opened);
  fill(table.appended);
  fill(table.block_closed);
  fill(table.closed);
  fill(table.sent);
  fill(table.refused);
  fill(table.arrived);
  fill(table.lost);
  fill(table.note);
  fill(table.coded);
  fill(table.timer);
  fill(table.expired);
  fill(table.link);
  fill(table.budget);
  fill(table.drain);
  fill(table.resume);
  fill(table.ended);
  return table;
}

Result<std::unique_ptr<PolicyHost>> PolicyHost::make(const PolicyChoice& choice,
                                                     const PolicyChoice& fallback,
                                                     const cw_env& env, const PolicyQuota& quota,
                                                     Instant now) {
  const auto table = complete_policy_table(*choice.ops);
  if (!table) return std::unexpected(table.error());
  std::unique_ptr<PolicyHost> host(new PolicyHost(choice, fallback, env, quota, now));
  if (const auto created = host->create(*table, choice.params); !created) {
    return std::unexpected(created.error());
  }
  return host;
}

PolicyHost::PolicyHost(const PolicyChoice& choice, const PolicyChoice& fallback, const cw_env& env,
                       const PolicyQuota& quota, Instant now)
    : choice_(choice),
      fallback_(fallback),
      env_(env),
      quota_(quota),
      timers_(timers_for(env), now),
      timer_handles_(timers_for(env)),
      window_start_(now) {
  out_.decisions = decisions_.data();
  out_.decision_capacity = decisions_capacity;
  out_.note_bytes = note_bytes_.data();
  out_.note_capacity = note_capacity;
}

PolicyHost::~PolicyHost() {
  if (policy_ != nullptr) ops_.destroy(policy_);
}

Result<void> PolicyHost::create(const cw_policy_ops& ops, std::span<const double> params) {
  ops_ = ops;
  env_.params = params.data();
  state_stride_ = (ops.message_state_bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t);
  state_ = std::make_unique<uint64_t[]>(std::max<size_t>(1, state_stride_ * env_.messages));
  char why[256] = "";
  const int error = ops_.create(&env_, &policy_, why, sizeof(why));
  if (error != 0 || policy_ == nullptr) {
    policy_ = nullptr;
    return failure(std::string("policy ") + ops.name + " refused to start: " + why);
  }
  return {};
}

void* PolicyHost::state_of(size_t index) {
  CW_DCHECK(index < env_.messages);
  return state_stride_ == 0 ? nullptr : &state_[index * state_stride_];
}

void PolicyHost::zero_state(size_t index) {
  if (state_stride_ != 0) std::fill_n(&state_[index * state_stride_], state_stride_, 0);
}

void PolicyHost::ended(uint32_t message, size_t index, Instant now) {
  ops_.ended(policy_, message, state_of(index), inside(now).ns());
}

void PolicyHost::opened(cw_fact_opened fact, Instant now) {
  fact.deadline_ns = inside(Instant::from_ns(fact.deadline_ns)).ns();
  tell(ops_.opened, fact, now);
}

void PolicyHost::sent(cw_fact_sent fact, Instant now) {
  fact.departed_ns = inside(Instant::from_ns(fact.departed_ns)).ns();
  tell(ops_.sent, fact, now);
}

void PolicyHost::link(const cw_fact_link& fact, Instant now) {
  window_ = Duration::from_ns(std::max<int64_t>(fact.rtt_ns, 1));
  ops_.limits(&env_, &fact, &needs_);
  tell(ops_.link, fact, now);
}

void PolicyHost::drain(Instant by, Instant now) {
  CW_ASSERT(!is_acting_);
  ops_.drain(policy_, inside(by).ns(), inside(now).ns(), &out_);
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
    ops_.timer(policy_, due, inside(now).ns(), &out_);
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
      ops_.refused(policy_, &fact, inside(now).ns(), &out_);
    } else if (asks_for_more) {
      ops_.resume(policy_, inside(now).ns(), &out_);
    } else {
      break;
    }
  }
  is_acting_ = false;
  if (round == rounds_max || strikes_ > quota_.strikes_max) quarantine(now);
}

void PolicyHost::take_decisions(Instant now) {
  const uint32_t count = std::min<uint32_t>(out_.decision_count, decisions_capacity);
  for (uint32_t i = 0; i < count; ++i) act_on(decisions_[i], now);
  out_.decision_count = 0;
  out_.note_count = 0;
  out_.more = 0;
}

void PolicyHost::act_on(const cw_decision& decision, Instant now) {
  if (!is_within_quota(decision, now)) return refuse_for_quota(decision);
  switch (decision.kind) {
    case CW_DECIDE_SEND:
      return act_on_send(decision.u.send, now);
    case CW_DECIDE_CODE:
      return actions_->on_code(decision.u.code, now);
    case CW_DECIDE_NOTE: {
      const cw_note& note = decision.u.note;
      if (note.offset > note_capacity || note.count > note_capacity - note.offset) return;
      return actions_->on_note(note, std::span(note_bytes_).subspan(note.offset, note.count), now);
    }
    case CW_DECIDE_TIMER:
      return set_timer(decision.u.timer, now);
    case CW_DECIDE_RELEASE:
      return actions_->on_release(decision.u.release, now);
    case CW_DECIDE_FINISH:
      return actions_->on_finish(decision.u.finish, now);
    case CW_DECIDE_LAYOUT:
      return actions_->on_layout(decision.u.layout, now);
    default:
      ++refused_count_;
  }
}

void PolicyHost::act_on_send(const cw_send& send, Instant now) {
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

void PolicyHost::refuse_for_quota(const cw_decision& decision) {
  cw_fact_refused fact{};
  fact.message = CW_UNKNOWN;
  fact.decision = static_cast<uint16_t>(decision.kind);
  fact.reason = CW_REFUSED_QUOTA;
  if (decision.kind == CW_DECIDE_SEND) {
    const cw_send& send = decision.u.send;
    fact.message = send.message;
    fact.first = send.first;
    fact.count = send.count;
    fact.stride = send.stride;
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
    return refuse_for_quota(decision);
  }
  CW_ASSERT(timer_handles_.try_set(timer.cookie, handle));  // as many as are armed
}

void PolicyHost::destroy_instance(Instant now) {
  ops_.destroy(policy_);
  policy_ = nullptr;
  timers_ = TimerWheel(timers_for(env_), inside(now));
  timer_handles_ = CookieMap<TimerHandle>(timers_for(env_));
  refusals_.clear();
  out_.decision_count = out_.note_count = out_.more = 0;
  strikes_ = 0;
}

void PolicyHost::restart(Instant now) {
  CW_ASSERT(!is_acting_);
  destroy_instance(now);
  is_quarantined_ = false;
  // It was created with these very arguments before.
  const auto table = complete_policy_table(*choice_.ops);
  CW_ASSERT(table && create(*table, choice_.params));
}

void PolicyHost::quarantine(Instant now) {
  if (is_quarantined_) return;
  destroy_instance(now);
  is_quarantined_ = true;
  const auto table = complete_policy_table(*fallback_.ops);
  CW_ASSERT(table && create(*table, fallback_.params));
  actions_->on_quarantine(now);
}

}  // namespace cw::sdr
