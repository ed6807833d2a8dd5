// The kernel's side of the policy door: one instance of a policy, its timers, its quotas. It gives
// the instance facts and hands its decisions to the stream that it serves.
//
// The instance's clock stands still while this thread does: what came meanwhile has not been seen
// yet, and no policy is to take it for lost. Every time that crosses this door is moved by that.
//
// A policy is not trusted to be right, only to be in this process: its decisions are counted per
// RTT, what exceeds the quota is refused, and an instance that keeps exceeding it is replaced by
// the fallback (`passthrough`). The stream then tells the new instance the whole story again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "dataplane/base/assert.h"
#include "dataplane/base/result.h"
#include "dataplane/base/ring.h"
#include "dataplane/base/units.h"
#include "dataplane/core/timer_wheel.h"
#include "dataplane/policy.h"
#include "dataplane/sdr/options.h"
#include "dataplane/sdr/seat/cookie_map.h"

namespace cw::sdr {

/// Checks a table's ABI and returns a copy in which every function may be called.
Result<cw_policy_ops> complete_policy_table(const cw_policy_ops& ops);

/// What a stream does with decisions. Every range has been checked by nobody yet.
class PolicyActions {
 public:
  virtual ~PolicyActions() = default;
  virtual void on_send(const cw_send& send, Instant now) = 0;
  virtual void on_code(const cw_code& code, Instant now) = 0;
  virtual void on_note(const cw_note& note, std::span<const uint8_t> bytes, Instant now) = 0;
  virtual void on_release(const cw_release& release, Instant now) = 0;
  virtual void on_finish(const cw_finish& finish, Instant now) = 0;
  virtual void on_layout(const cw_layout& layout, Instant now) = 0;
  /// The instance was replaced: open everything again with opened, appended and closed.
  virtual void on_quarantine(Instant now) = 0;
};

/// Thread: the stream's owner. Cost: one indirect call per fact; nothing allocates after make().
class PolicyHost {
 public:
  /// Makes the instance. `fallback` is what takes over in quarantine; it must always create.
  static Result<std::unique_ptr<PolicyHost>> make(const PolicyChoice& choice,
                                                  const PolicyChoice& fallback, const cw_env& env,
                                                  const PolicyQuota& quota, Instant now);
  ~PolicyHost();
  PolicyHost(const PolicyHost&) = delete;
  PolicyHost& operator=(const PolicyHost&) = delete;

  /// A new epoch: a fresh instance of the policy that was configured. The only call that allocates.
  void restart(Instant now);
  void set_actions(PolicyActions* actions) { actions_ = actions; }

  // ---- facts; each returns after all decisions that it caused have been acted on. Never from
  // within
  //      an action: the call into the policy that is under way must end first
  //      --------------------------
  void opened(cw_fact_opened fact, Instant now);
  void appended(const cw_fact_appended& fact, Instant now) { tell(ops_.appended, fact, now); }
  void block_closed(const cw_fact_block_closed& fact, Instant now) {
    tell(ops_.block_closed, fact, now);
  }
  void closed(const cw_fact_closed& fact, Instant now) { tell(ops_.closed, fact, now); }
  void sent(cw_fact_sent fact, Instant now);
  void arrived(const cw_fact_arrived& fact, Instant now) { tell(ops_.arrived, fact, now); }
  void lost(const cw_fact_lost& fact, Instant now) { tell(ops_.lost, fact, now); }
  void note(const cw_fact_note& fact, Instant now) { tell(ops_.note, fact, now); }
  void coded(const cw_fact_coded& fact, Instant now) { tell(ops_.coded, fact, now); }
  void expired(const cw_fact_expired& fact, Instant now) { tell(ops_.expired, fact, now); }
  void link(const cw_fact_link& fact, Instant now);
  void budget(const cw_fact_budget& fact, Instant now) { tell(ops_.budget, fact, now); }
  void drain(Instant by, Instant now);
  /// Queued: told after the call under way, or by the next settle().
  void refuse(const cw_fact_refused& fact);
  void refuse(const cw_code& code, cw_refusal reason, void* state);
  void settle(Instant now);

  /// Fires what is due. Bounded: at most `timers_per_turn` timers.
  void on_time(Instant now);
  Instant next_due() const { return outside(timers_.next_due()); }
  /// This thread stood still: nothing falls due for that time.
  void rebase(Duration shift) { slept_ += shift; }

  // ---- per-message memory of the policy ----
  /// The state of the message in place `index` (below env.messages); null when the policy keeps
  /// none.
  void* state_of(size_t index);
  void zero_state(size_t index);
  /// The last fact about a message.
  void ended(uint32_t message, size_t index, Instant now);

  const cw_policy_ops& table() const { return ops_; }
  const cw_policy_limits& needs() const { return needs_; }
  bool is_quarantined() const { return is_quarantined_; }
  uint64_t refused_count() const { return refused_count_; }

 private:
  static constexpr size_t decisions_capacity = 128;
  static constexpr size_t note_capacity = 4096;
  static constexpr size_t refusals_capacity = 256;
  static constexpr size_t timers_per_turn = 256;
  static constexpr size_t rounds_max = 1024;  // of `more` after one fact

  PolicyHost(const PolicyChoice& choice, const PolicyChoice& fallback, const cw_env& env,
             const PolicyQuota& quota, Instant now);
  Result<void> create(const cw_policy_ops& ops, std::span<const double> params);
  void destroy_instance(Instant now);

  template <class Fact>
  void tell(void (*function)(cw_policy*, const Fact*, int64_t, cw_out*), const Fact& fact,
            Instant now) {
    CW_ASSERT(!is_acting_);
    function(policy_, &fact, inside(now).ns(), &out_);
    act(now);
  }
  /// A time of ours as the instance reads it, and one of the instance's as we do.
  Instant inside(Instant at) const { return at == Instant::never() ? at : at - slept_; }
  Instant outside(Instant at) const {
    const int64_t room = Instant::never().ns() - slept_.ns();
    return at.ns() >= room ? Instant::never() : at + slept_;
  }
  void act(Instant now);
  void take_decisions(Instant now);
  void act_on(const cw_decision& decision, Instant now);
  void act_on_send(const cw_send& send, Instant now);
  bool is_within_quota(const cw_decision& decision, Instant now);
  void refuse_for_quota(const cw_decision& decision);
  void set_timer(const cw_timer& timer, Instant now);
  void quarantine(Instant now);

  cw_policy_ops ops_;
  cw_policy* policy_ = nullptr;
  PolicyActions* actions_ = nullptr;
  PolicyChoice choice_, fallback_;
  cw_env env_;
  cw_policy_limits needs_{};
  PolicyQuota quota_;

  cw_out out_{};
  std::array<cw_decision, decisions_capacity> decisions_;
  std::array<uint8_t, note_capacity> note_bytes_;
  Ring<cw_fact_refused> refusals_{refusals_capacity};
  bool is_acting_ = false;

  TimerWheel timers_;
  CookieMap<TimerHandle> timer_handles_;

  Duration slept_;  // since the beginning
  size_t state_stride_ = 0;
  std::unique_ptr<uint64_t[]> state_;

  Instant window_start_;
  Duration window_ = Duration::from_ms(1);  // one RTT, once it is known
  uint32_t window_decisions_ = 0, window_notes_ = 0, strikes_ = 0;
  bool window_exceeded_ = false;
  bool is_quarantined_ = false;
  uint64_t refused_count_ = 0;
};

}  // namespace cw::sdr
