// The core's side of the policy door: it gives an instance of a policy facts, keeps its timers and
// counts against its quotas, and hands its decisions to the stream that it serves.
//
// The instance's clock stands still while this thread does: what came meanwhile has not been seen
// yet, and no policy is to take it for lost. Every time that crosses this door is moved by that.
//
// A policy is not trusted to be right, only to be in this process: its decisions are counted per
// RTT, what exceeds the quota is refused, and an instance that keeps exceeding it is replaced by
// the one that stands by (`passthrough`). The stream then tells that one the whole story again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "dataplane/base/assert.h"
#include "dataplane/base/memory/ring.h"
#include "dataplane/base/memory/table.h"
#include "dataplane/base/serial.h"
#include "dataplane/base/units.h"
#include "dataplane/core/lazy_memory.h"
#include "dataplane/core/timer_wheel.h"
#include "dataplane/policy.h"
#include "dataplane/sdr/options.h"
#include "dataplane/sdr/seat/care/policy_call.h"
#include "dataplane/sdr/seat/code/cookie_map.h"
#include "dataplane/sdr/seat/policy_instance.h"
#include "dataplane/sdr/seat/trace/policy_trace.h"
#include "dataplane/sdr/stream/stream_config.h"

namespace cw::sdr {

class PolicyHost;

/// What a stream does with decisions. Of a range only this has been checked: its message is one of
/// those that the policy decides for.
class PolicyActions {
 public:
  virtual ~PolicyActions() = default;
  virtual void on_send(const cw_send& send, Instant now) = 0;
  virtual void on_code(const cw_code& code, Instant now) = 0;
  /// For the policy at the other end that has the same number.
  virtual void on_note(const cw_note& note, std::span<const uint8_t> bytes,
                       uint16_t policy_epoch) = 0;
  virtual void on_release(const cw_release& release, Instant now) = 0;
  virtual void on_finish(const cw_finish& finish, Instant now) = 0;
  /// False: nobody can be asked, and it is refused. Of a stream both ends know their only peer.
  virtual bool try_ask(const cw_ask&, Instant) { return false; }
  /// The instance was replaced: open everything of `host` again with opened, appended and closed.
  virtual void on_quarantine(PolicyHost& host, Instant now) = 0;
};

/// Which messages a policy decides for: all, or those below or from one on.
struct MessageRange {
  bool has_first = false, has_end = false;
  MessageSeq first, end;

  bool holds(MessageSeq seq) const {
    return !(has_first && seq.is_before(first)) && !(has_end && !seq.is_before(end));
  }
};

/// Thread: the stream's owner. Cost: one indirect call per fact; nothing allocates after
/// construction.
class PolicyHost {
 public:
  /// `now` on the clock of the turns. Cost: slow, allocates.
  PolicyHost(std::unique_ptr<PolicyInstance> instance, const PolicyQuota& quota, Instant now);
  ~PolicyHost() { end_trace(TraceState::Replaced); }
  PolicyHost(const PolicyHost&) = delete;
  PolicyHost& operator=(const PolicyHost&) = delete;

  void set_actions(PolicyActions* actions) { actions_ = actions; }
  /// The messages it decides for; of others every decision is refused.
  void set_range(const MessageRange& range) { range_ = range; }
  const MessageRange& range() const { return range_; }
  /// Which policy of this stream it is, counted from the beginning of the link's epoch.
  void set_policy_epoch(uint16_t epoch) { policy_epoch_ = epoch; }
  uint16_t policy_epoch() const { return policy_epoch_; }

  /// A new epoch of the link: `next` begins, and who was there is returned. Without `next` nothing
  /// may be told.
  std::unique_ptr<PolicyInstance> begin(std::unique_ptr<PolicyInstance> next, Instant now);
  bool has_instance() const { return instance_ != nullptr; }
  /// From here on `trace` is told all that the instance is, which nobody has told anything yet.
  void begin_trace(std::shared_ptr<PolicyTrace> trace);
  void end_trace(TraceState why) {
    if (trace_ != nullptr) trace_->end(why);
  }
  /// If it is this one, whoever else has it keeps it.
  void forget_trace(const PolicyTrace& trace) {
    if (trace_.get() == &trace) trace_.reset();
  }
  /// A new epoch for the one that is here, which has been told nothing.
  void restart(Instant now) { clear(now); }
  /// Who takes over in quarantine.
  void set_relief(std::unique_ptr<PolicyInstance> relief) { relief_ = std::move(relief); }
  bool has_relief() const { return relief_ != nullptr; }
  std::unique_ptr<PolicyInstance> take_relief() { return std::move(relief_); }
  /// What was replaced in quarantine, to be destroyed outside the turn; else null.
  std::unique_ptr<PolicyInstance> take_relieved() { return std::move(relieved_); }

  // ---- facts; each returns after all decisions that it caused have been acted on. Never from
  // within
  //      an action: the call into the policy that is under way must end first
  //      --------------------------
  void opened(cw_fact_opened fact, Instant now);
  void appended(const cw_fact_appended& fact, Instant now) { tell(ops().appended, fact, now); }
  void block_closed(const cw_fact_block_closed& fact, Instant now) {
    tell(ops().block_closed, fact, now);
  }
  void closed(const cw_fact_closed& fact, Instant now) { tell(ops().closed, fact, now); }
  void sent(cw_fact_sent fact, Instant now);
  void arrived(const cw_fact_arrived& fact, Instant now) { tell(ops().arrived, fact, now); }
  void lost(const cw_fact_lost& fact, Instant now) { tell(ops().lost, fact, now); }
  void note(const cw_fact_note& fact, Instant now) { tell(ops().note, fact, now); }
  void coded(const cw_fact_coded& fact, Instant now) { tell(ops().coded, fact, now); }
  void expired(const cw_fact_expired& fact, Instant now) { tell(ops().expired, fact, now); }
  void link(const cw_fact_link& fact, Instant now);
  void budget(const cw_fact_budget& fact, Instant now) {
    if (hears_budget()) tell(ops().budget, fact, now);
  }
  void step(cw_fact_step fact, Instant now);
  void departed(cw_fact_departed fact, Instant now);
  void drain(Instant by, Instant now);
  /// Whether budget() would tell anybody.
  bool hears_budget() const { return has_instance() && ops().budget != nullptr; }
  /// Queued: told after the call under way, or by the next settle().
  void refuse(const cw_fact_refused& fact);
  void refuse(const cw_code& code, cw_refusal reason, void* state);
  void settle(Instant now);

  /// Fires what is due. Bounded: at most `timers_per_turn` timers.
  void on_time(Instant now);
  Instant next_due() const { return outside(timers_.next_due()); }
  /// No message is open, and none was for a while: memory goes back until it is needed, where no
  /// timer is armed. Cost: two system calls.
  void rest();
  /// This thread stood still: nothing falls due for that time.
  void rebase(Duration shift) { slept_ += shift; }

  // ---- per-message memory of the policy ----
  void* state_of(size_t index) { return instance_->state_of(index); }
  void zero_state(size_t index) { instance_->zero_state(index); }
  /// The last fact about a message.
  void ended(uint32_t message, size_t index, Instant now);

  /// How its messages are cut into blocks; whoever stands in keeps to it.
  const BlockShape& shape() const { return shape_; }
  /// The shape of the blocks opened from now on, as its policy decides.
  const cw_layout& layout() const { return layout_; }
  /// Refused when the shape does not hold.
  void set_layout(const cw_layout& layout);
  /// The same until it says otherwise, and whenever other shapes would not last.
  cw_layout first_layout() const;
  const cw_policy_ops& table() const { return ops(); }
  const cw_policy_limits& needs() const { return needs_; }
  bool is_quarantined() const { return is_quarantined_; }
  uint64_t refused_count() const { return refused_count_; }

 private:
  static constexpr size_t refusals_capacity = 256;
  static constexpr size_t timers_per_turn = 256;
  static constexpr size_t rounds_max = 1024;  // of `more` after one fact

  template <class Fact>
  void tell(void (*function)(cw_policy*, const Fact*, int64_t, cw_out*), const Fact& fact,
            Instant now) {
    CW_ASSERT(!is_acting_);
    call(fact, now, [&](cw_policy* its, int64_t now_ns) { function(its, &fact, now_ns, &out_); });
    act(now);
  }
  /// Every call of an instance after create() and before destroy(), traced where it is.
  template <class Fact, class Function>
  void call(const Fact& fact, Instant now, const Function& function) {
    const int64_t now_ns = inside(now).ns();
    if (trace_ != nullptr) [[unlikely]]
      trace_->add(fact, now_ns);
    const PolicyCall place(*instance_);
    function(instance_->get(), now_ns);
  }
  const cw_policy_ops& ops() const { return instance_->table(); }
  /// A time of ours as the instance reads it, and one of the instance's as we do.
  Instant inside(Instant at) const { return at == Instant::never() ? at : at - slept_; }
  Instant outside(Instant at) const {
    const int64_t room = Instant::never().ns() - slept_.ns();
    return at.ns() >= room ? Instant::never() : at + slept_;
  }
  void act(Instant now);
  void take_decisions(Instant now);
  void act_on(const cw_decision& decision, Instant now);
  void act_on_send(const cw_decision& decision, Instant now);
  void act_on_code(const cw_code& code, Instant now);
  bool decides_for(uint32_t message) const { return range_.holds(MessageSeq(message)); }
  bool is_within_quota(const cw_decision& decision, Instant now);
  void refuse_decision(const cw_decision& decision, cw_refusal reason);
  void set_timer(const cw_timer& timer, Instant now);
  void clear(Instant now);
  void quarantine(Instant now);

  std::unique_ptr<PolicyInstance> instance_, relief_, relieved_;
  std::shared_ptr<PolicyTrace> trace_;  // null: most of the time
  PolicyActions* actions_ = nullptr;
  MessageRange range_;
  uint16_t policy_epoch_ = 0;
  cw_policy_limits needs_{};
  BlockShape shape_;
  cw_layout layout_{};
  PolicyQuota quota_;

  cw_out out_{};
  LazyMemory memory_;  // of what follows, which holds nothing between facts
  Table<cw_decision> decisions_{decisions_per_call, &memory_};
  Table<uint8_t> note_bytes_{note_bytes_per_call, &memory_};
  Ring<cw_fact_refused> refusals_{refusals_capacity, &memory_};
  bool is_acting_ = false;

  TimerWheel timers_;  // and these, while no timer is armed
  CookieMap<TimerHandle> timer_handles_;

  Duration slept_;  // since the beginning

  Instant window_start_;
  Duration window_ = Duration::from_ms(1);  // one RTT, once it is known
  uint32_t window_decisions_ = 0, window_notes_ = 0, strikes_ = 0;
  bool window_exceeded_ = false;
  bool is_quarantined_ = false;
  uint64_t refused_count_ = 0;
};

}  // namespace cw::sdr
