#include "control/gateway/site/relink/relink.h"

#include <algorithm>
#include <span>

#include "dataplane/base/assert.h"

namespace cw::site {
namespace {

/// So long are peers heard by links that are to be no more.
constexpr Duration told_max = Duration::from_s(10);

/// Of the links of one set to one peer.
struct Ends {
  bool are_up = true;     ///< all of them, and each has answered just now
  bool answers = false;   ///< one of them, just now
  bool carries = false;   ///< one of them may do so yet
  bool has_moved = true;  ///< the peer asks by all that are up to send by others
  bool is_quiet = true;   ///< on none that carries is anything on its way
  std::string why;
};

Ends ends_of(std::span<const PeerView> views, size_t peer) {
  Ends ends;
  for (const PeerView& each : views) {
    if (each.peer != peer) continue;
    ends.are_up &= each.answers;
    ends.answers |= each.answers;
    if (!each.is_up && ends.why.empty()) ends.why = each.why;
    if (!each.is_up) continue;
    ends.has_moved &= each.is_drain_wanted || each.has_gone_over;
    ends.carries |= each.may_carry();
    ends.is_quiet &= each.is_quiet || !each.may_carry();
  }
  return ends;
}

}  // namespace

void Relink::begin(Duration empty_for, Instant now) {
  CW_ASSERT(phase_ == Phase::None);
  *this = Relink();
  phase_ = Phase::Waiting;
  empty_for_ = empty_for;
  since_ = now;
}

void Relink::cancel() { is_cancelled_ |= phase_ == Phase::Waiting && !is_turning_; }

void Relink::on_done(Step step) {
  constexpr Phase after[] = {Phase::None, Phase::Moved, Phase::Ending, Phase::None, Phase::Waiting};
  CW_ASSERT(step != Step::None);
  phase_ = after[static_cast<size_t>(step)];
  if (step == Step::Tell) has_given_up_ = !has_given_up_;
  if (step == Step::Move) is_turning_ = false;
  empty_since_ = Instant::never();
}

Relink::Step Relink::look(const SiteState& state, const Plan& plan) {
  missing_.clear();
  others_.clear();
  why_.clear();
  if (phase_ == Phase::None || !state.beside) return Step::None;
  if (phase_ == Phase::Ending) return state.beside->has_left ? Step::Part : Step::None;
  const bool is_to_be_told = phase_ == Phase::Moved ? is_turning_ : is_cancelled_ && !has_given_up_;
  if (is_to_be_told) return tell(state);
  return phase_ == Phase::Waiting ? wait(state, plan) : follow(state, plan);
}

/// What nobody has used may go at once.
Relink::Step Relink::tell(const SiteState& state) {
  told_at_ = state.at;
  const bool is_used =
      state.beside->crossed > 0 || std::ranges::any_of(state.peers, &PeerView::has_gone_over);
  return phase_ == Phase::Moved || is_used ? Step::Tell : Step::Leave;
}

// Who does not answer by the first either keeps nobody waiting.
Relink::Step Relink::wait(const SiteState& state, const Plan& plan) {
  bool is_any = false, is_quiet = true;
  for (size_t i = 0; i < plan.gateway.peers.size(); ++i) {
    if (!plan.has_peer(i)) continue;
    const Ends first = ends_of(state.peers, i), second = ends_of(state.beside->peers, i);
    const bool is_there = second.are_up && !(second.has_moved && !first.has_moved);
    is_any |= is_there;
    is_quiet &= second.is_quiet;
    if (second.are_up && !first.answers) add_other(i, plan);
    if (is_there || !first.carries) continue;
    missing_.push_back(plan.gateway.peers[i].name);
    if (why_.empty()) why_ = second.why;
  }
  if (is_cancelled_ || is_turning_) missing_.clear();  // nobody is waited for
  const Duration told_for = state.at - told_at_;
  if (is_cancelled_) return told_for >= told_max ? Step::Leave : leave(state, is_quiet);
  // All have heard of it; who answers by the others alone goes on by these.
  if (is_turning_) return told_for >= empty_for_ ? Step::Move : Step::None;
  return is_any && missing_.empty() ? Step::Move : Step::None;
}

void Relink::add_other(size_t place, const Plan& plan) {
  others_.resize(plan.gateway.peers.size());
  others_[place] = true;
}

Relink::Step Relink::follow(const SiteState& state, const Plan& plan) {
  bool is_quiet = true;
  are_all_beside_ = true;
  for (size_t i = 0; i < plan.gateway.peers.size(); ++i) {
    if (!plan.has_peer(i)) continue;
    const Ends old = ends_of(state.beside->peers, i), now = ends_of(state.peers, i);
    // A site that drains says so by both.
    const bool has_moved = old.has_moved && !now.has_moved;
    const bool gives_up = now.has_moved && !old.has_moved;
    if (old.are_up && (!now.answers || gives_up)) add_other(i, plan);
    is_quiet &= old.is_quiet;
    are_all_beside_ &= old.are_up || !now.answers;
    if (old.carries && !has_moved && !has_given_up_) {
      missing_.push_back(plan.gateway.peers[i].name);
    }
  }
  return leave(state, is_quiet && others_.empty() && missing_.empty());
}

/// When nothing has crossed for a while.
Relink::Step Relink::leave(const SiteState& state, bool is_quiet) {
  const uint64_t crossed = state.beside->crossed;
  const bool is_empty = std::exchange(crossed_, crossed) == crossed && is_quiet;
  empty_since_ = is_empty ? std::min(empty_since_, state.at) : Instant::never();
  return state.at - empty_since_ >= empty_for_ ? Step::Leave : Step::None;
}

}  // namespace cw::site
