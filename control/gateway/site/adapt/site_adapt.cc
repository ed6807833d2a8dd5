#include "control/gateway/site/adapt/site_adapt.h"

#include <algorithm>
#include <array>

namespace cw::site {
namespace {

using Fate = SwapView::Fate;

constexpr double million = 1e6;

const sdr::SwapPolicy* find_sent_by(const SiteState& state, AdaptPlace place) {
  const auto found = std::ranges::find_if(state.sent_by, [&](const SentBy& each) {
    return each.peer == place.peer && each.class_index == place.class_index;
  });
  return found == state.sent_by.end() ? nullptr : &found->policy;
}

std::string text_of(const sdr::SwapPolicy& policy) {
  const std::string params(policy.params.view());
  return std::string(policy.name.view()) + (params.empty() ? "" : " ") + params;
}

/// Whether the peer has ordered what is sent to it.
bool is_of_peer(const SiteState& state, AdaptPlace place, const sdr::SwapPolicy& present) {
  return std::ranges::any_of(state.swaps, [&](const SwapView& each) {
    return each.peer == place.peer && each.class_index == place.class_index && each.is_outward &&
           !each.is_ours && each.fate == Fate::Done && each.policy == present.name.view() &&
           each.params == present.params.view();
  });
}

}  // namespace

std::string_view name_of(AdaptView::State state) {
  constexpr std::array<std::string_view, 5> names = {"watching", "changing", "dry run", "held",
                                                     "down"};
  return names[static_cast<size_t>(state)];
}

// ---- what is to be asked ----

/// A row for each class that adapts at each peer, and none for others.
void SiteAdapt::settle_rows(const Plan& plan) {
  const auto adapts = [&](AdaptPlace place) {
    return plan.has_peer(place.peer) && place.class_index < plan.classes.size() &&
           plan.classes[place.class_index].adapt;
  };
  std::erase_if(rows_, [&](const auto& each) { return !adapts(each.first); });
  std::erase_if(lines_, [&](const auto& each) { return !plan.has_peer(each.first); });
  for (size_t peer = 0; peer < plan.peers.size(); ++peer) {
    for (size_t i = 0; i < plan.classes.size(); ++i) {
      const AdaptPlace place{static_cast<uint16_t>(peer), static_cast<uint16_t>(i)};
      if (adapts(place)) rows_[place].view.place = place;
    }
  }
}

std::vector<AdaptQuestion> SiteAdapt::questions(const SiteState& state, const Plan& plan) {
  settle_rows(plan);
  std::vector<AdaptQuestion> questions;
  if (rows_.empty()) return questions;
  for (auto first = state.peers.begin(); first != state.peers.end();) {
    const auto end = std::find_if(first, state.peers.end(),
                                  [&](const PeerView& each) { return each.peer != first->peer; });
    if (plan.has_peer(first->peer)) lines_[first->peer].look({first, end}, state.at);
    first = end;
  }
  for (auto& [place, row] : rows_) {
    if (auto asked = question(state, plan, row)) questions.push_back(std::move(*asked));
  }
  return questions;
}

/// Of what is sent to the peer; says too whether our latest was refused, once.
bool SiteAdapt::is_busy(const SiteState& state, Row& row, bool& is_refused) {
  bool is_any = false, is_seen = false, is_over = true;
  for (const SwapView& each : state.swaps) {
    const bool is_its = each.peer == row.view.place.peer && each.is_outward &&
                        each.class_index == row.view.place.class_index;
    if (!is_its) continue;
    const bool is_open = each.fate == Fate::UnderWay || each.fate == Fate::Waiting;
    const bool is_ours = row.order != 0 && each.order == row.order;
    is_any |= is_open;
    is_seen |= is_ours;
    is_over &= !is_ours || !is_open;
    is_refused |= is_ours && each.fate == Fate::NotDone && each.status != SwapStatus::Busy;
  }
  if (is_seen && is_over) row.order = 0;
  return is_any || row.order != 0;
}

std::optional<AdaptQuestion> SiteAdapt::question(const SiteState& state, const Plan& plan,
                                                 Row& row) {
  const AdaptPlace place = row.view.place;
  const ClassPlan& its_class = plan.classes[place.class_index];
  const sdr::SwapPolicy* const present = find_sent_by(state, place);
  row.view.facts = lines_[place.peer].facts(state.at);
  if (present == nullptr) return row.view.state = AdaptView::State::Down, std::nullopt;
  row.view.present = text_of(*present);
  if (row.is_held) return row.view.state = AdaptView::State::Held, std::nullopt;
  bool is_refused = false;
  if (is_busy(state, row, is_refused))
    return row.view.state = AdaptView::State::Changing, std::nullopt;
  row.view.state = its_class.adapt->is_dry ? AdaptView::State::DryRun : AdaptView::State::Watching;
  row.view.refused += is_refused ? 1 : 0;
  const sdr::LinkOptions& link = plan.peers[place.peer];
  return AdaptQuestion{.place = place,
                       .plan = *its_class.adapt,
                       .slot = Bytes(link.control.payload_bytes),
                       .overhead_max = 1 + link.pacer.overhead_ppm / million,
                       .facts = row.view.facts,
                       .present = *present,
                       .is_peers = is_of_peer(state, place, *present),
                       .refused = is_refused ? std::optional(row.ordered) : std::nullopt,
                       .at = state.at};
}

// ---- what comes of it ----

SiteAdapt::Carried SiteAdapt::carry_out(const AdaptAnswer& answer, const Plan& plan, Instant now,
                                        const Order& order) {
  settle_rows(plan);
  const auto found = rows_.find(answer.place);
  if (found == rows_.end() || found->second.is_held) return Carried::Outdated;
  Row& row = found->second;
  ++(answer.decision.is_raise ? row.view.raised : row.view.lowered);
  row.view.last = answer.decision.what;
  row.view.last_at = now;
  if (plan.classes[answer.place.class_index].adapt->is_dry) return Carried::Dry;
  SwapOrder swap;
  swap.class_index = answer.place.class_index;
  swap.peer = answer.place.peer;
  swap.policy = answer.policy;
  row.ordered = swap.policy;
  row.order = order(swap);
  row.view.state = AdaptView::State::Changing;
  return Carried::Ordered;
}

void SiteAdapt::set_held(uint16_t class_index, std::optional<uint16_t> peer, bool is_held) {
  for (auto& [place, row] : rows_) {
    const bool is_its = place.class_index == class_index && (!peer || place.peer == *peer);
    if (is_its) row.is_held = is_held;
  }
}

void SiteAdapt::hold(uint16_t class_index, std::optional<uint16_t> peer) {
  set_held(class_index, peer, true);
}

void SiteAdapt::resume(uint16_t class_index, std::optional<uint16_t> peer) {
  set_held(class_index, peer, false);
}

void SiteAdapt::resume_all() {
  for (auto& [place, row] : rows_) row.is_held = false;
}

std::vector<AdaptView> SiteAdapt::views() const {
  std::vector<AdaptView> views;
  views.reserve(rows_.size());
  for (const auto& [place, row] : rows_) views.push_back(row.view);
  return views;
}

}  // namespace cw::site
