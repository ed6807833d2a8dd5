#include "control/gateway/site/relink/relink.h"

#include <algorithm>
#include <span>

#include "dataplane/base/assert.h"

namespace cw::site {
namespace {

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
    ends.has_moved &= each.is_drain_wanted;
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

void Relink::cancel() { is_cancelled_ = phase_ == Phase::Waiting; }

void Relink::on_done(Step step) {
  constexpr Phase after[] = {Phase::None, Phase::Moved, Phase::Ending, Phase::None};
  CW_ASSERT(step != Step::None);
  phase_ = after[static_cast<size_t>(step)];
  empty_since_ = Instant::never();
}

Relink::Step Relink::look(const SiteState& state, const Plan& plan) {
  missing_.clear();
  others_.clear();
  why_.clear();
  if (phase_ == Phase::None || !state.beside) return Step::None;
  if (phase_ == Phase::Ending) return state.beside->has_left ? Step::Part : Step::None;
  if (is_cancelled_) return Step::Leave;
  return phase_ == Phase::Waiting ? wait(state, plan) : follow(state, plan);
}

// Who does not answer by the first either keeps nobody waiting.
Relink::Step Relink::wait(const SiteState& state, const Plan& plan) {
  bool is_any = false;
  for (size_t i = 0; i < plan.gateway.peers.size(); ++i) {
    if (!plan.has_peer(i)) continue;
    const Ends first = ends_of(state.peers, i), second = ends_of(state.beside->peers, i);
    is_any |= second.are_up;
    if (second.are_up && !first.answers) add_other(i, plan);
    if (second.are_up || !first.carries) continue;
    missing_.push_back(plan.gateway.peers[i].name);
    if (why_.empty()) why_ = second.why;
  }
  return is_any && missing_.empty() ? Step::Move : Step::None;
}

void Relink::add_other(size_t place, const Plan& plan) {
  others_.resize(plan.gateway.peers.size());
  others_[place] = true;
}

Relink::Step Relink::follow(const SiteState& state, const Plan& plan) {
  const BesideState& first = *state.beside;
  bool is_quiet = true;
  for (size_t i = 0; i < plan.gateway.peers.size(); ++i) {
    if (!plan.has_peer(i)) continue;
    const Ends old = ends_of(first.peers, i), now = ends_of(state.peers, i);
    if (old.are_up && !now.answers) add_other(i, plan);
    is_quiet &= old.is_quiet;
    // A site that drains says so by both.
    const bool has_moved = old.has_moved && !now.has_moved;
    if (old.carries && !has_moved) missing_.push_back(plan.gateway.peers[i].name);
  }
  const bool is_empty =
      is_quiet && others_.empty() && std::exchange(crossed_, first.crossed) == first.crossed;
  empty_since_ = is_empty && missing_.empty() ? std::min(empty_since_, state.at) : Instant::never();
  return state.at - empty_since_ >= empty_for_ ? Step::Leave : Step::None;
}

}  // namespace cw::site
