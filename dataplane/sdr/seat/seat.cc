#include "dataplane/sdr/seat/seat.h"

#include <algorithm>
#include <utility>

#include "dataplane/base/assert.h"
#include "dataplane/sdr/seat/care/seat_care.h"

namespace cw::sdr {
namespace {

/// The first place that is empty; the end when there is none.
auto free_place(auto& row) {
  return std::ranges::find_if(row, [](const auto& each) { return each == nullptr; });
}

bool is_empty(const auto& row) {
  return std::ranges::all_of(row, [](const auto& each) { return each == nullptr; });
}

template <class Row, class Member>
bool try_put(Row& row, std::unique_ptr<Member>& member) {
  const auto place = free_place(row);
  if (place == row.end()) return false;
  *place = std::move(member);
  return true;
}

}  // namespace

Place Place::of(const PolicyChoice& policy, const cw_env& env) {
  Place place{.ops = policy.ops, .env = env};
  std::ranges::copy(policy.params, place.params.begin());
  return place;
}

Result<std::unique_ptr<Seat>> Seat::make(const SeatOptions& options, Instant now) {
  std::unique_ptr<Seat> seat(new Seat(options));
  auto first = seat->make_successor(options.policy, now);
  if (!first) return std::unexpected(first.error());
  seat->place_ = seat->wish_ = first->place;
  seat->current_ = std::move(first->host);
  return seat;
}

Result<void> Seat::check_room(const PolicyChoice& policy) const {
  const auto env = env_of(policy, options_.stream, options_.link, options_.role);
  if (!env) return std::unexpected(env.error());
  return {};
}

Result<Successor> Seat::make_successor(const PolicyChoice& policy, Instant now) const {
  const auto env = env_of(policy, options_.stream, options_.link, options_.role);
  if (!env) return std::unexpected(env.error());
  auto instance = PolicyInstance::make(policy, *env);
  if (!instance) return std::unexpected(instance.error());
  auto relief = PolicyInstance::make(options_.fallback, *env);
  if (!relief) return std::unexpected(relief.error());
  auto host = std::make_unique<PolicyHost>(std::move(*instance), options_.quota, now);
  host->set_relief(std::move(*relief));
  return Successor{Place::of(policy, *env), std::move(host)};
}

void Seat::set_actions(PolicyActions* actions) {
  actions_ = actions;
  each([&](PolicyHost& host) { host.set_actions(actions); });
}

// ---- epochs ----

Result<void> Seat::settle(const PolicyChoice& policy, Instant now) {
  const auto env = env_of(policy, options_.stream, options_.link, options_.role);
  if (!env) return std::unexpected(env.error());
  const Place next = Place::of(policy, *env);
  if (next.is_same(place_)) return {};
  place_ = next;
  retire(current_->begin(nullptr, now));
  // Whoever stands by keeps the shape of those it relieves.
  retire(current_->take_relief());
  return {};
}

void Seat::end_epoch(Instant now) {
  if (before_ != nullptr) end_swap();
  if (is_fresh_) {
    current_->restart(now);
  } else {
    retire(current_->begin(nullptr, now));
  }
  current_->set_policy_epoch(0);
}

// ---- what it lacks ----

bool Seat::wants_care() const {
  return making_ == Making::Wanted || !is_ready() || !is_empty(hosts_over_) ||
         !is_empty(instances_over_);
}

void Seat::ask(SeatCare& care, Instant now) {
  care.seat = this;
  care.asked = now;
  care.place = place_;
  care.fallback = options_.fallback;
  care.hosts_over = std::exchange(hosts_over_, {});
  care.instances_over = std::exchange(instances_over_, {});
  care.next_over = std::move(next_over_);
  care.wants_instance = !current_->has_instance();
  care.wants_relief = !current_->has_relief();
  care.wants_next = making_ == Making::Wanted;
  if (!care.wants_next) return;
  making_ = Making::UnderWay;
  care.next_policy = *next_policy_;
  care.next_number = next_number_;
}

/// What was made for a policy that is not this seat's any more goes the way of all that is over.
void Seat::take(SeatCare& care, Instant now) {
  if (!care.place.is_same(place_)) {
    retire(std::move(care.instance));
    retire(std::move(care.relief));
  }
  if (care.instance != nullptr && !current_->has_instance()) {
    (void)current_->begin(std::move(care.instance), now);
    is_fresh_ = true;
  }
  retire(std::move(care.instance));
  if (care.relief != nullptr) current_->set_relief(std::move(care.relief));
  if (care.wants_next) take_next(care);
  if (wants_care()) care_();
}

/// What was forgotten meanwhile goes, too.
void Seat::take_next(SeatCare& care) {
  const bool is_wanted = making_ == Making::UnderWay && care.next_number == next_number_;
  if (!is_wanted) {
    if (care.next != nullptr) retire(std::move(care.next->host));
    return;
  }
  next_ = std::move(care.next);
  making_ = next_ != nullptr ? Making::Made : Making::Refused;
  refusal_ = care.refusal;
  refusal_sentence_ = care.refusal_sentence;
}

void Seat::retire(std::unique_ptr<PolicyHost> host) {
  CW_ASSERT(try_put(hosts_over_, host));  // try_begin() has seen to it
  care_();
}

void Seat::retire(std::unique_ptr<PolicyInstance> instance) {
  if (instance == nullptr) return;
  CW_ASSERT(try_put(instances_over_, instance));
  care_();
}

// ---- from one policy to the next ----

void Seat::make_next(const SwapPolicy& policy) {
  CW_ASSERT(making_ == Making::Nothing);
  next_policy_ = &policy;
  ++next_number_;
  making_ = Making::Wanted;
  care_();
}

void Seat::forget_next() {
  making_ = Making::Nothing;
  next_policy_ = nullptr;
  if (next_ == nullptr) return;
  retire(std::move(next_->host));
  next_over_ = std::move(next_);
}

bool Seat::try_begin(const Swap& swap, Instant now) {
  const bool has_room = free_place(hosts_over_) != hosts_over_.end();
  if (making_ != Making::Made || is_swapping() || !current_->has_instance() || !has_room) {
    return false;
  }
  before_ = std::exchange(current_, std::move(next_->host));
  is_fresh_ = true;
  making_ = Making::Nothing;
  before_->set_range({.has_end = true, .end = swap.boundary});
  current_->set_range({.has_first = true, .first = swap.boundary});
  current_->set_actions(actions_);
  current_->set_policy_epoch(swap.policy_epoch);
  place_ = wish_ = next_->place;
  next_over_ = std::move(next_);
  drain_by_ = swap.drain_by;
  if (next_trace_ != nullptr) begin_trace();
  before_->drain(swap.drain_by, now);
  return true;
}

bool Seat::try_end_drain(Instant now) {
  if (drain_by_ > now) return false;
  drain_by_ = Instant::never();
  return true;
}

void Seat::end_swap() {
  current_->set_range({});
  retire(std::move(before_));
  drain_by_ = Instant::never();
}

void Seat::on_quarantine(PolicyHost& host) {
  const bool is_current = &host == current_.get();  // else one that goes anyway
  std::unique_ptr<PolicyInstance> relieved = host.take_relieved();
  if (is_current && relieved != nullptr) relieved->set_barred();
  retire(std::move(relieved));
  if (is_current) ++quarantines_;
}

void Seat::trace_next(std::shared_ptr<PolicyTrace> trace) {
  each([](PolicyHost& host) { host.end_trace(TraceState::Asked); });
  next_trace_ = std::move(trace);
}

bool Seat::try_list(std::vector<const cw_policy_ops*>& tables) const {
  tables.insert(tables.end(), {place_.ops, wish_.ops});
  return making_ == Making::Nothing && !is_swapping() && !wants_care();
}

PolicyHost* Seat::numbered(uint16_t policy_epoch) {
  if (current_->policy_epoch() == policy_epoch) return current_.get();
  const bool is_before = before_ != nullptr && before_->policy_epoch() == policy_epoch;
  return is_before ? before_.get() : nullptr;
}

}  // namespace cw::sdr
