// Who decides for one end of a stream: a policy, and while one takes over from another, two.
//
//        messages below the boundary -> the one before        from it on -> the current one
//
// A message belongs to one of them from its opening to its end, and so do its facts, its memory and
// its decisions. What concerns no message is told to both; notes go by the number of the policy.
// The one before leaves when the last message below the boundary has ended.
//
// Instances are made and destroyed outside the turn. A seat keeps the one that decides and one that
// takes over in quarantine, which is small; none waits for the next epoch of the link, which begins
// when there is one. What a seat lacks, and what it is done with, is seen to by whoever cares for
// it (seat_care.h), on any thread. So is who comes next, for a swap (swap/swap_end.h).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "dataplane/base/limits.h"
#include "dataplane/base/result.h"
#include "dataplane/base/serial.h"
#include "dataplane/base/units.h"
#include "dataplane/core/turn/activity.h"
#include "dataplane/policy.h"
#include "dataplane/sdr/options.h"
#include "dataplane/sdr/seat/policy_host.h"
#include "dataplane/sdr/seat/policy_instance.h"
#include "dataplane/sdr/seat/policy_needs.h"
#include "dataplane/sdr/seat/trace/policy_trace.h"
#include "dataplane/sdr/swap/swap_seat.h"

namespace cw::sdr {

class Seat;

struct SeatOptions {
  PolicyChoice policy;
  PolicyChoice fallback;  ///< what a policy in quarantine is replaced by; it must always start
  PolicyQuota quota;
  StreamConfig stream;
  LinkGuess link;
  cw_role role = CW_SOURCE;
};

/// A policy and what its instances are made for, those that stand in for it too. By value: another
/// thread may read it while the seat is given to the next.
struct Place {
  const cw_policy_ops* ops = nullptr;
  std::array<double, limits::policy_params_max> params{};
  cw_env env{};  ///< without parameters

  static Place of(const PolicyChoice& policy, const cw_env& env);
  PolicyChoice choice() const { return {ops, std::span(params).first(ops->param_count)}; }
  bool is_same(const Place& other) const { return ops == other.ops && params == other.params; }
};

/// What takes over from a policy: made outside the turn.
struct Successor {
  Place place;
  std::unique_ptr<PolicyHost> host;
};

/// A change of policy within an epoch of the link, to the successor that was made for it.
struct Swap {
  MessageSeq boundary;        ///< from which on messages are its own; none of them is open yet
  uint16_t policy_epoch = 0;  ///< its number; that of the one before is lower
  Instant drain_by = Instant::never();  ///< when what is left of the one before is given up
};

struct SeatCare;

/// Thread: the stream's owner. Nothing allocates, save make() and make_successor().
class Seat {
 public:
  static constexpr size_t hosts_over_max = 4, instances_over_max = 8;

  /// Errors: what the policy says when it refuses to start.
  static Result<std::unique_ptr<Seat>> make(const SeatOptions& options, Instant now);

  void set_actions(PolicyActions* actions);
  /// Called when there is something to care for.
  void set_care(Activity::Wake care) { care_ = care; }

  // ---- epochs of the link ----
  /// Before an epoch: both ends have agreed on this policy. Errors: it does not fit the stream.
  Result<void> settle(const PolicyChoice& policy, Instant now);
  /// Whether all is there that an epoch may need.
  bool is_ready() const { return current_->has_instance() && current_->has_relief(); }
  /// Whoever sat here has seen his last; the next epoch begins with an instance that has been told
  /// nothing.
  void end_epoch(Instant now);

  // ---- what it lacks ----
  bool wants_care() const;
  void ask(SeatCare& care, Instant now);
  void take(SeatCare& care, Instant now);

  // ---- from one policy to the next ----
  /// Any thread. Errors: it needs blocks that the stream has no room for.
  Result<void> check_room(const PolicyChoice& policy) const;
  /// Any thread, outside the turn. Errors: as make().
  Result<Successor> make_successor(const PolicyChoice& policy, Instant now) const;
  /// Somebody is to make it: asked for by ask(), given by take(). `policy` stays until it is
  /// forgotten or has begun.
  void make_next(const SwapPolicy& policy);
  Making making() const { return making_; }
  SwapStatus refusal() const { return refusal_; }
  const SwapSentence& refusal_sentence() const { return refusal_sentence_; }
  void forget_next();
  /// False, and nothing has changed: none was made, or the swap before it lasts.
  bool try_begin(const Swap& swap, Instant now);
  bool is_swapping() const { return before_ != nullptr; }
  MessageSeq boundary() const { return before_->range().end; }
  Instant drain_by() const { return drain_by_; }
  /// Whether the one before has had its time; true once.
  bool try_end_drain(Instant now);
  /// The one before has no message any more.
  void end_swap();
  /// Nobody has told the current one anything.
  bool is_fresh() const { return is_fresh_; }
  /// The host has replaced its instance.
  void on_quarantine(PolicyHost& host);
  /// How often the policy that decides about what is new was.
  uint32_t quarantine_count() const { return quarantines_; }

  // ---- who ----
  PolicyHost& of(MessageSeq seq) {
    return before_ != nullptr && seq.is_before(before_->range().end) ? *before_ : *current_;
  }
  const PolicyHost& of(MessageSeq seq) const { return const_cast<Seat&>(*this).of(seq); }
  PolicyHost& of(uint32_t message) { return of(MessageSeq(message)); }
  PolicyHost& current() { return *current_; }
  const PolicyHost& current() const { return *current_; }
  /// By its number; null: none of these.
  PolicyHost* numbered(uint16_t policy_epoch);
  PolicyChoice policy() const { return place_.choice(); }
  /// Who decides about what is new: that policy, or what stands in for it.
  const char* name() const {
    return current_->is_quarantined() ? options_.fallback.ops->name : place_.ops->name;
  }
  /// Adds the tables that it goes by; false: it is at something else, and may go by others, too.
  bool try_list(std::vector<const cw_policy_ops*>& tables) const;
  /// The one that this end has by configuration, or since a swap: the peer may have had it settle
  /// for another.
  PolicyChoice wish() const { return wish_.choice(); }

  // ---- what it is told and decides, told in turn ----
  /// The next policy that begins here is traced from its first fact on; that of now no longer is.
  /// Null: neither is.
  void trace_next(std::shared_ptr<PolicyTrace> trace);

  // ---- to both ----
  /// Before all other facts of an epoch.
  void link(const cw_fact_link& fact, Instant now) {
    if (std::exchange(is_fresh_, false) && next_trace_ != nullptr) begin_trace();
    each([&](PolicyHost& host) { host.link(fact, now); });
  }
  void lost(const cw_fact_lost& fact, Instant now) {
    each([&](PolicyHost& host) { host.lost(fact, now); });
  }
  void settle(Instant now) {
    each([&](PolicyHost& host) { host.settle(now); });
  }
  void on_time(Instant now) {
    each([&](PolicyHost& host) { host.on_time(now); });
  }
  void rebase(Duration shift) {
    each([&](PolicyHost& host) { host.rebase(shift); });
  }
  /// As PolicyHost.
  void rest() {
    each([](PolicyHost& host) { host.rest(); });
  }
  Instant next_due() const {
    const Instant due = current_->next_due();
    return before_ == nullptr ? due : std::min(due, before_->next_due());
  }

 private:
  explicit Seat(const SeatOptions& options) : options_(options) {}
  template <class Do>
  void each(const Do& act) {
    if (before_ != nullptr) act(*before_);
    act(*current_);
  }
  void take_next(SeatCare& care);
  void begin_trace() { current_->begin_trace(std::exchange(next_trace_, nullptr)); }
  void retire(std::unique_ptr<PolicyHost> host);
  void retire(std::unique_ptr<PolicyInstance> instance);

  SeatOptions options_;
  Place place_, wish_;  // the former of the current policy
  PolicyActions* actions_ = nullptr;
  Activity::Wake care_;
  std::unique_ptr<PolicyHost> current_, before_;
  std::unique_ptr<Successor> next_;       // while it is made and has not begun
  std::unique_ptr<Successor> next_over_;  // what is left of it, to be freed elsewhere
  std::shared_ptr<PolicyTrace> next_trace_;
  const SwapPolicy* next_policy_ = nullptr;
  uint32_t next_number_ = 0;  // of what is being made: what was forgotten may come yet
  Making making_ = Making::Nothing;
  uint32_t quarantines_ = 0;
  SwapStatus refusal_ = SwapStatus::Ready;
  SwapSentence refusal_sentence_;
  bool is_fresh_ = true;  // nobody has told the current one anything
  Instant drain_by_ = Instant::never();
  std::array<std::unique_ptr<PolicyHost>, hosts_over_max> hosts_over_;
  std::array<std::unique_ptr<PolicyInstance>, instances_over_max> instances_over_;
};

}  // namespace cw::sdr
