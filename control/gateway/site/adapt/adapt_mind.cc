#include <algorithm>

#include "control/gateway/site/adapt/site_adapt.h"

namespace cw::site {
namespace {

std::vector<sdr::SwapPolicy> names_of(const adapt::Adapter& adapter) {
  std::vector<sdr::SwapPolicy> names;
  for (const model::Plan& each : adapter.candidates()) {
    names.push_back(sdr::named({each.policy, each.params}));
  }
  return names;
}

std::optional<size_t> place_of(const sdr::SwapPolicy& policy,
                               const std::vector<sdr::SwapPolicy>& names) {
  const auto found = std::ranges::find(names, policy);
  if (found == names.end()) return std::nullopt;
  return static_cast<size_t>(found - names.begin());
}

}  // namespace

AdaptMind::Known& AdaptMind::known_of(const AdaptQuestion& question) {
  const auto is_same = [&](const Known& known) {
    return known.plan == question.plan && known.slot == question.slot &&
           known.overhead_max == question.overhead_max;
  };
  const auto found = known_.find(question.place);
  if (found != known_.end() && is_same(found->second)) return found->second;
  Known known{.plan = question.plan,
              .slot = question.slot,
              .overhead_max = question.overhead_max,
              .adapter = {question.plan, question.slot, question.overhead_max},
              .names = {},
              .decided = {},
              .begins_at = {}};
  known.names = names_of(known.adapter);
  return known_.insert_or_assign(question.place, std::move(known)).first->second;
}

void AdaptMind::note_refusal(Known& known, const AdaptQuestion& question) {
  if (!question.refused) return;
  const auto place = place_of(*question.refused, known.names);
  if (place) known.adapter.refused(*place, question.at);
  known.begins_at = question.at + adapt::Adapter::refused_for;
}

/// Another's policy is left alone where the peer has ordered it, and else replaced: the file says
/// what there is to choose from.
std::optional<adapt::Decision> AdaptMind::decide(Known& known, const AdaptQuestion& question) {
  auto present = place_of(question.present, known.names);
  if (question.plan.is_dry && known.decided) present = known.decided;
  if (present != known.decided) known.adapter.forget();
  known.decided = present;
  if (present) return known.adapter.look(question.facts, *present, question.at);
  if (question.is_peers || question.at < known.begins_at) return std::nullopt;
  const model::Plan first = adapt::first_of(question.plan);
  const auto place = place_of(sdr::named({first.policy, first.params}), known.names);
  return adapt::Decision{.from = *place,
                         .to = *place,
                         .what = std::string(question.present.name.view()) +
                                 " is none of its policies: it begins with " +
                                 adapt::name_of(first)};
}

std::vector<AdaptAnswer> AdaptMind::think(const std::vector<AdaptQuestion>& questions) {
  std::vector<AdaptAnswer> answers;
  for (const AdaptQuestion& each : questions) {
    Known& known = known_of(each);
    note_refusal(known, each);
    auto decision = decide(known, each);
    if (!decision) continue;
    known.decided = decision->to;
    const sdr::SwapPolicy policy = known.names[decision->to];
    answers.push_back({each.place, std::move(*decision), policy});
  }
  return answers;
}

}  // namespace cw::site
