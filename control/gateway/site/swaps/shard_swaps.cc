#include "control/gateway/site/swaps/shard_swaps.h"

#include <algorithm>

#include "dataplane/sdr/seat/policy_offer.h"

namespace cw::site {
namespace {

using Fate = SwapView::Fate;
using sdr::SwapReport;

constexpr std::string_view words_of(SwapStatus status) {
  switch (status) {
    case SwapStatus::Ready:
      return "";
    case SwapStatus::Unknown:
      return "no such policy: ";
    case SwapStatus::WireVersion:
      return "another version: ";
    case SwapStatus::Parameters:
      return "its parameters: ";
    case SwapStatus::BeyondReserve:
      return "no room for its blocks: ";
    case SwapStatus::Busy:
      return "another is under way: ";
    case SwapStatus::NotAllowed:
      return "not allowed: ";
    case SwapStatus::Barred:
      return "barred: ";
  }
  return "";
}

/// A peer's words, all of them.
template <size_t Capacity>
std::string text_of(const FixedText<Capacity>& words) {
  return sdr::printable(words.view(), Capacity);
}

void tell(const SwapReport& report, SwapView& view) {
  view.is_ours = report.is_ours;
  view.id = report.id;
  view.policy = text_of(report.policy.name);
  view.params = text_of(report.policy.params);
  view.fate = report.fate == SwapReport::Fate::Done      ? Fate::Done
              : report.fate == SwapReport::Fate::NotDone ? Fate::NotDone
                                                         : Fate::UnderWay;
  if (view.fate == Fate::UnderWay) return;
  view.ms = (report.over - report.begun).ms();
  view.why = std::string(words_of(report.status)) + text_of(report.sentence);
}

}  // namespace

void ShardSwaps::want(std::span<const WantedPolicy> wanted, Instant now) {
  wishes_.clear();
  for (size_t link = 0; link < endpoint_.links().size(); ++link) {
    for (const WantedPolicy& each : wanted) wishes_.push_back({link, each, ""});
  }
  pursue(now);
}

void ShardSwaps::pursue(Instant now) {
  std::erase_if(wishes_, [&](Wish& wish) { return try_settle(wish, now); });
}

bool ShardSwaps::has_open() const {
  return std::ranges::any_of(wishes_, [](const Wish& wish) { return !wish.is_refused; });
}

/// Whether nothing is left to be done or told of it: it is so, or cannot be and the link's own
/// report says why. What the end of an epoch has cut off is ordered again.
bool ShardSwaps::try_settle(Wish& wish, Instant now) {
  if (wish.is_refused) return false;
  sdr::Link& link = *endpoint_.links()[wish.link];
  const uint16_t qp = wish.wanted.class_index;
  if (!link.is_up()) {
    wish.ordered = 0;
    wish.why = "the link is down: " + link.why();
    return false;
  }
  const sdr::SwapEnd* const end = link.swap(qp, CW_SOURCE);
  if (end == nullptr) return true;  // no such class
  if (!end->is_idle()) {
    wish.why = "the one before is not over";
    return false;
  }
  const bool is_newest =
      wish.wanted.table == nullptr || link.table(qp, CW_SOURCE) == wish.wanted.table;
  const bool has_name = !wish.wanted.policy.name.is_empty();
  if (is_newest && has_name && link.policy(qp, CW_SOURCE) == wish.wanted.policy) return true;
  if (wish.ordered != 0 && end->report().id == wish.ordered && !end->report().is_cut_off) {
    return true;
  }
  const auto ordered = link.order_swap(qp, CW_SOURCE, wish.wanted.policy, now);
  if (ordered) {
    wish.ordered = end->report().id;
    return false;
  }
  wish.is_refused = true;
  wish.why = ordered.error().sentence;
  return false;
}

SwapView ShardSwaps::view_of(size_t link, uint16_t class_index,
                             const sdr::SwapPolicy& policy) const {
  const sdr::Link& its = *endpoint_.links()[link];
  return {.peer = its.peer(),
          .link = its.number(),
          .class_index = class_index,
          .policy = std::string(policy.name.view()),
          .params = std::string(policy.params.view()),
          .why = ""};
}

std::vector<SwapView> ShardSwaps::views() const {
  std::vector<SwapView> views;
  for (const Wish& wish : wishes_) {
    if (wish.ordered != 0) continue;  // the link tells
    SwapView& view =
        views.emplace_back(view_of(wish.link, wish.wanted.class_index, wish.wanted.policy));
    if (wish.is_refused) view.fate = Fate::NotDone;
    view.why = wish.why;
  }
  for (size_t link = 0; link < endpoint_.links().size(); ++link) {
    if (!endpoint_.links()[link]->has_swaps()) continue;
    for (size_t i = 0; i < classes_; ++i) {
      const auto qp = static_cast<uint16_t>(i);
      for (const cw_role role : {CW_SOURCE, CW_SINK}) {
        const sdr::SwapEnd* const end = endpoint_.links()[link]->swap(qp, role);
        if (end == nullptr || end->report().fate == SwapReport::Fate::None) continue;
        SwapView& view = views.emplace_back(view_of(link, qp, end->report().policy));
        view.is_outward = role == CW_SOURCE;
        tell(end->report(), view);
      }
    }
  }
  return views;
}

}  // namespace cw::site
