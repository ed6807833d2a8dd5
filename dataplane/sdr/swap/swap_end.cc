#include "dataplane/sdr/swap/swap_end.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace cw::sdr {
namespace {

using Fate = SwapReport::Fate;

struct Transition {
  SwapRole role;
  SwapState state;
  SwapEvent event;
  SwapState next;
};

constexpr Transition transitions[] = {
#define CW_SWAP(role, state, event, next) \
  {SwapRole::role, SwapState::state, SwapEvent::event, SwapState::next},
#include "dataplane/sdr/swap/swap_transitions.def"
#undef CW_SWAP
};

constexpr std::string_view called_off = "the peer has called it off";
constexpr std::string_view cut_off = "the link's epoch ended before it was done";

}  // namespace

SwapState next_state(SwapRole role, SwapState state, SwapEvent event) {
  const auto* const found = std::ranges::find_if(transitions, [&](const Transition& each) {
    return each.role == role && each.state == state && each.event == event;
  });
  return found == std::end(transitions) ? state : found->next;
}

SwapEnd::SwapEnd(SwapRole role, uint16_t qp, SwapSeat& seat, Counters& counters)
    : role_(role), qp_(qp), seat_(seat), counters_(counters) {}

bool SwapEnd::try_step(SwapEvent event, Instant now) {
  const SwapState next = next_state(role_, state_, event);
  if (next == state_) return false;
  state_ = next;
  since_ = now;
  say_due_ = Instant::never();
  return true;
}

// ---- from the beginning to the end ----

void SwapEnd::begin(uint32_t id, bool is_ours, const SwapPolicy& policy, Instant now) {
  if (before_ == nullptr) before_ = std::make_unique<SwapReport>();
  if (!is_renewal_) *before_ = report_;
  is_renewal_ = false;
  report_ = {.fate = Fate::UnderWay, .is_ours = is_ours, .id = id, .policy = policy, .begun = now};
  has_heard_ = false;
  seat_.make_next(report_.policy);
}

void SwapEnd::join(SwapEnd& source, SwapEnd& sink) {
  source.partner_ = &sink;
  sink.partner_ = &source;
}

void SwapEnd::end(Fate fate, SwapStatus status, const SwapSentence& sentence, Instant now) {
  report_.fate = fate;
  report_.status = status;
  report_.sentence = sentence;
  report_.over = now;
  // Another of the same chooser may have been turned down meanwhile.
  if (past_of(report_.id).id <= report_.id) remember({report_.id, fate, status}, sentence);
  counters_.add(fate == Fate::Done ? Counter::policies_swapped : Counter::swaps_refused);
  SwapEnd* const partner = std::exchange(partner_, nullptr);
  if (partner == nullptr) return;
  partner->partner_ = nullptr;
  if (fate == Fate::NotDone) partner->call_off(*this, now);
}

/// The other direction of its order cannot be, and so nothing of this one has begun.
void SwapEnd::call_off(const SwapEnd& other, Instant now) {
  if (state_ == SwapState::Bound || state_ == SwapState::Draining) return;
  const bool was_asked =
      state_ == SwapState::Asking || (state_ == SwapState::Ready && say_due_ != Instant::never());
  if (was_asked) answer(RecordType::SwapCancel, report_.id);
  report_.is_refused_there = other.report_.is_refused_there;
  fail(SwapEvent::Cancelled, other.report_.status, other.report_.sentence.view(), now);
}

void SwapEnd::remember(const Past& past, const SwapSentence& sentence) {
  past_of(past.id) = past;
  if (!is_own(past.id)) why_not_ = sentence;
}

/// What has not begun changes nothing: the successor goes, and the source may open what it likes
/// [C-43].
void SwapEnd::fail(SwapEvent event, SwapStatus status, std::string_view sentence, Instant now) {
  const bool was_bound = state_ == SwapState::Bound;
  const bool has_begun = state_ == SwapState::Draining;
  if (!try_step(event, now)) return;
  if (was_bound) seat_.unbind();
  if (!has_begun) seat_.forget_next();
  end(Fate::NotDone, status, SwapSentence(sentence), now);
}

Result<void> SwapEnd::order(const SwapPolicy& policy, Instant now) {
  if (!is_idle()) {
    return failure("a swap to " + std::string(report_.policy.name.view()) +
                   " is under way, and another can begin when it is over");
  }
  (void)try_step(SwapEvent::Order, now);
  begin((past_of(own_bit()).id | own_bit()) + 1, true, policy, now);
  return {};
}

void SwapEnd::on_made(Instant now) {
  if (state_ != SwapState::Preparing) return;
  if (seat_.making() == Making::Refused) {
    const SwapStatus status = seat_.refusal();
    const SwapSentence sentence = seat_.refusal_sentence();
    if (!report_.is_ours) answer(RecordType::SwapReady, report_.id);
    return fail(SwapEvent::Failed, status, sentence.view(), now);
  }
  if (seat_.making() != Making::Made) return;
  if (!report_.is_ours) is_renewal_ = seat_.makes_the_same();
  (void)try_step(report_.is_ours ? SwapEvent::Made : SwapEvent::MadeForPeer, now);
  if (state_ == SwapState::Bound) return bind(now);
  if (!report_.is_ours) return answer_current();
  if (role_ == SwapRole::Source || may_ask()) say_now(now);
}

void SwapEnd::bind(Instant now) {
  boundary_ = seat_.bind();
  policy_epoch_ = static_cast<uint16_t>(seat_.policy_epoch() + 1);
  say_now(now);
}

/// A source that was acknowledged offers the new one in the next: that is done.
void SwapEnd::end_epoch(Instant now) {
  if (partner_ != nullptr) partner_->partner_ = nullptr;
  partner_ = nullptr;
  const bool is_done = role_ == SwapRole::Source && state_ == SwapState::Draining;
  if (is_done) {
    (void)try_step(SwapEvent::EpochOver, now);
    end(Fate::Done, SwapStatus::Ready, {}, now);
  } else {
    if (!is_idle()) report_.is_cut_off = true;
    fail(SwapEvent::EpochOver, SwapStatus::Ready, cut_off, now);
  }
  past_ = {};
  begun_ = {};
  answers_.clear();
}

// ---- what comes ----

/// Whether a new question of the peer's takes the place of what this end is at: of its own order,
/// since the source's stands, or of a question that the peer has given up unheard. A source that
/// has said the boundary of that order is at nothing else.
bool SwapEnd::may_yield() const {
  if (role_ == SwapRole::Source) return false;
  return state_ == SwapState::Preparing ||
         (state_ == SwapState::Ready && !(report_.is_ours && has_heard_));
}

void SwapEnd::on_record(const SwapPrepare& prepare, Instant now) {
  const uint32_t id = prepare.swap_id;
  if (is_current(id)) {
    if (role_ == SwapRole::Sink) since_ = now;
    return answer_current();
  }
  Past& past = past_of(id);
  if (id < past.id) return;
  if (id == past.id) return answer_past(past);
  if (may_yield()) {
    fail(SwapEvent::Cancelled, SwapStatus::Busy, "the source of the data asked for another", now);
  }
  if (role_ == SwapRole::Sink && !is_idle()) return;  // it asks again
  const auto refuse = [&](SwapStatus status, std::string_view sentence) {
    remember({id, Fate::NotDone, status}, SwapSentence(sentence));
    answer_past(past);
  };
  if (!is_idle()) return refuse(SwapStatus::Busy, "another swap of this direction is under way");
  if (!SwapPolicy::fits(prepare.policy.name, prepare.policy.text)) {
    return refuse(SwapStatus::Parameters, "its name or parameters are too long");
  }
  (void)try_step(SwapEvent::Asked, now);
  begin(id, false, {prepare.policy.name, prepare.policy.text}, now);
}

/// A sink says that it is ready, as often as it is asked.
void SwapEnd::answer_current() {
  if (state_ != SwapState::Ready || report_.is_ours) return;
  answer(RecordType::SwapReady, report_.id);
}

void SwapEnd::answer_past(const Past& past) {
  if (past.fate == Fate::Done) return;
  const bool is_refused = past.status != SwapStatus::Ready;
  answer(is_refused ? RecordType::SwapReady : RecordType::SwapCancel, past.id);
}

void SwapEnd::on_record(const SwapReady& ready, Instant now) {
  const uint32_t id = ready.swap_id;
  const bool is_ready = ready.status == SwapStatus::Ready;
  if (!is_current(id)) {
    const Past& past = past_of(id);
    const bool is_dead = id < past.id || (id == past.id && past.fate == Fate::NotDone);
    if (is_ready && is_dead) answer(RecordType::SwapCancel, id);
    return;
  }
  if (!report_.is_ours) return;
  if (!is_ready) {
    report_.is_refused_there = true;
    return fail(SwapEvent::Refused, ready.status, ready.sentence, now);
  }
  if (state_ == SwapState::Asking) accept(now);
}

/// The sink is ready. A source that has a partner asks on, so that the sink stays so.
void SwapEnd::accept(Instant now) {
  if (!std::exchange(has_heard_, true)) since_ = now;
  if (!may_bind()) return partner_->go_on(now);
  if (try_step(SwapEvent::Accepted, now)) bind(now);
}

/// The partner has heard something.
void SwapEnd::go_on(Instant now) {
  if (role_ == SwapRole::Source) {
    if (state_ == SwapState::Asking && has_heard_) accept(now);
    return;
  }
  if (state_ != SwapState::Ready) return;
  if (has_heard_ && may_begin()) return take_boundary(now);
  if (has_heard_ || say_due_ != Instant::never()) return;
  since_ = now;
  say_now(now);
}

void SwapEnd::on_record(const SwapBoundary& boundary, Instant now) {
  const uint32_t id = boundary.swap_id;
  // A source that is bound begins no other: if this end has begun with it, then as the latest
  // [C-44].
  if (id != 0 && id == begun_.id) return answer(RecordType::SwapAcknowledge, id);
  if (!is_current(id)) return answer(RecordType::SwapCancel, id);
  if (next_state(role_, state_, SwapEvent::Bound) == state_) return;
  if (!seat_.is_sound(boundary.boundary_seq, boundary.policy_epoch)) {
    answer(RecordType::SwapCancel, id);
    return fail(SwapEvent::Cancelled, SwapStatus::Ready, "its boundary cannot be", now);
  }
  boundary_ = boundary.boundary_seq;
  policy_epoch_ = boundary.policy_epoch;
  has_heard_ = true;
  if (!may_begin()) return partner_->go_on(now);
  take_boundary(now);
}

/// The source says it again where this end cannot yet.
void SwapEnd::take_boundary(Instant now) {
  if (!seat_.try_begin(boundary_, policy_epoch_, now)) return;
  (void)try_step(SwapEvent::Bound, now);
  begun_ = {report_.id, boundary_, policy_epoch_};
  answer(RecordType::SwapAcknowledge, report_.id);
}

void SwapEnd::on_record(const SwapAcknowledge& acknowledge, Instant now) {
  if (!is_current(acknowledge.swap_id) || state_ != SwapState::Bound) return;
  if (acknowledge.boundary_seq != boundary_) return;
  // The boundary is said again, and acknowledged again, until the seat can begin.
  if (!seat_.try_begin(boundary_, policy_epoch_, now)) return;
  (void)try_step(SwapEvent::Acknowledged, now);
  if (partner_ != nullptr) partner_->go_on(now);
}

void SwapEnd::on_record(const SwapCancel& cancel, Instant now) {
  const uint32_t id = cancel.swap_id;
  const std::string_view why = cancel.sentence.empty() ? called_off : cancel.sentence;
  if (is_current(id)) return fail(SwapEvent::Cancelled, SwapStatus::Ready, why, now);
  if (id <= past_of(id).id || is_own(id)) return;
  remember({id, Fate::NotDone, SwapStatus::Ready}, SwapSentence(cancel.sentence));
}

// ---- time ----

void SwapEnd::on_time(Instant now) {
  if (state_ == SwapState::Draining && !seat_.is_swapping()) {
    (void)try_step(SwapEvent::Drained, now);
    return end(Fate::Done, SwapStatus::Ready, {}, now);
  }
  if (next_due() > now) return;
  const bool is_asking = state_ == SwapState::Asking || report_.is_ours;
  if (is_asking) answer(RecordType::SwapCancel, report_.id);
  fail(SwapEvent::TimeOver, SwapStatus::Ready,
       is_asking ? "there was no answer in time" : "who asked for it fell silent", now);
}

Instant SwapEnd::next_due() const {
  if (next_state(role_, state_, SwapEvent::TimeOver) == state_) return Instant::never();
  // Making is this end's own affair; only a peer may have gone meanwhile.
  if (state_ == SwapState::Preparing && report_.is_ours) return Instant::never();
  // It waits for its partner, or the peer's source for it.
  const bool waits_here = !may_ask() || (has_heard_ && report_.is_ours);
  if (state_ == SwapState::Ready && waits_here) return Instant::never();
  return since_ + (state_ == SwapState::Asking ? asking_max : silence_max);
}

// ---- what leaves ----

bool SwapEnd::offer(EnvelopeWriter& writer, Duration rtt, Instant now) {
  while (!answers_.is_empty()) {
    if (!try_answer(writer, answers_.front())) return false;
    (void)answers_.pop();
  }
  if (say_due_ > now) return true;
  if (!try_say(writer)) return false;
  say_due_ = now + std::max(rtt / 2, repeat_min);
  return true;
}

/// As things are when it leaves: of what is under way, or of how it has ended.
bool SwapEnd::try_answer(EnvelopeWriter& writer, const Answer& answer) {
  const Past& kept = past_of(answer.id);
  const Past past = kept.id == answer.id ? kept : Past{};
  const bool has_sentence = past.id != 0 && !is_own(past.id);
  const std::string_view sentence = has_sentence ? why_not_.view() : std::string_view();
  if (answer.type == RecordType::SwapReady) {
    return writer.try_add(SwapReady{qp_, past.status, answer.id, sentence});
  }
  if (answer.type == RecordType::SwapCancel) {
    return writer.try_add(SwapCancel{qp_, direction(), answer.id, sentence});
  }
  return writer.try_add(SwapAcknowledge{qp_, begun_.policy_epoch, begun_.id, begun_.boundary});
}

bool SwapEnd::try_say(EnvelopeWriter& writer) const {
  if (state_ == SwapState::Bound) {
    return writer.try_add(SwapBoundary{qp_, policy_epoch_, report_.id, boundary_});
  }
  const SwapPolicy& policy = report_.policy;
  return writer.try_add(
      SwapPrepare{qp_, direction(), report_.id, {policy.name.view(), policy.params.view()}});
}

}  // namespace cw::sdr
