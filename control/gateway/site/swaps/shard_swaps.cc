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
  view.status = report.status;
  view.is_refused_there = report.is_refused_there;
  view.why = std::string(words_of(report.status)) + text_of(report.sentence);
}

}  // namespace

bool SwapOrder::is_followed_by(const SwapOrder& next) const {
  return class_index == next.class_index && (!next.peer || next.peer == peer) &&
         is_outward <= next.is_outward && is_inward <= next.is_inward;
}

// ---- what is wished ----

void ShardSwaps::want(std::span<const WantedPolicy> wanted, Instant now) {
  std::erase_if(wishes_, [](const Wish& wish) { return wish.order == 0; });
  for (Wish& wish : wishes_) follow(wish, "the file has been read again since");
  for (size_t link = 0; link < endpoint_.links().size(); ++link) {
    for (const WantedPolicy& each : wanted) {
      wishes_.push_back({.link = link, .wanted = each, .view = view_of(link, each)});
    }
  }
  pursue(now);
}

void ShardSwaps::order(const SwapOrder& order, std::span<const size_t> links, Instant now) {
  const WantedPolicy wanted{order.class_index, order.policy, order.table};
  std::erase_if(wishes_, [&](const Wish& wish) {
    return wish.is_over && !wish.is_latest && wish.order + orders_told <= order.number;
  });
  for (const size_t link : links) {
    Wish wish{.link = link, .wanted = wanted, .order = order.number, .view = view_of(link, wanted)};
    wish.view.order = order.number;
    if (order.is_guarded) wish.guard.emplace(now);
    if (order.is_outward) add(wish);
    wish.role = CW_SINK;
    wish.wanted.table = nullptr;
    wish.view.is_outward = false;
    if (order.is_inward) add(wish);
  }
  pursue(now);
}

/// What is under way of an earlier one goes on; what has not begun does not.
void ShardSwaps::add(const Wish& wish) {
  const auto is_before = [&](const Wish& each) {
    return each.link == wish.link && each.role == wish.role &&
           each.wanted.class_index == wish.wanted.class_index;
  };
  std::erase_if(wishes_, [&](const Wish& each) { return is_before(each) && each.order == 0; });
  for (Wish& each : wishes_) {
    if (is_before(each)) follow(each, "another order has been given since");
  }
  wishes_.push_back(wish);
}

void ShardSwaps::follow(Wish& wish, const std::string& why) {
  wish.is_latest = false;
  if (!wish.is_over && !wish.is_ordered) refuse(wish, SwapStatus::Busy, why);
}

void ShardSwaps::pursue(Instant now) {
  for (Wish& wish : wishes_) {
    if (has_begun_anew(wish)) reopen(wish);
  }
  for (Wish& wish : wishes_) {
    if (wish.guard) watch(wish, now);
    if (!wish.is_over) advance(wish, now);
  }
  // The link tells what the file's have come to, save where it was never asked.
  std::erase_if(wishes_, [](const Wish& wish) {
    const bool is_told = wish.is_ordered || wish.view.fate == Fate::Done;
    return wish.order == 0 && wish.is_over && is_told;
  });
}

bool ShardSwaps::try_list(std::vector<const cw_policy_ops*>& tables) const {
  for (const Wish& wish : wishes_) {
    if (!wish.is_over || wish.is_latest) tables.push_back(wish.wanted.table);
  }
  return std::ranges::all_of(endpoint_.links(),
                             [&](const auto& link) { return link->swap_desk().try_list(tables); });
}

bool ShardSwaps::has_open() const {
  return std::ranges::any_of(wishes_, [&](const Wish& wish) {
    return !wish.is_over || wish.guard || has_begun_anew(wish);
  });
}

// ---- from order to end ----

bool ShardSwaps::is_so(const Wish& wish) const {
  const sdr::SwapDesk& desk = link_of(wish).swap_desk();
  const uint16_t qp = wish.wanted.class_index;
  const bool is_newest =
      wish.wanted.table == nullptr || desk.table(qp, wish.role) == wish.wanted.table;
  const bool has_name = !wish.wanted.policy.name.is_empty();
  return is_newest && has_name && desk.policy(qp, wish.role) == wish.wanted.policy;
}

/// What is done stands for as long as the end has heard of nothing else.
bool ShardSwaps::has_begun_anew(const Wish& wish) const {
  if (!wish.is_over || !wish.is_latest || wish.view.fate != Fate::Done) return false;
  const sdr::Link& link = link_of(wish);
  if (!link.is_up() || link.epoch() == wish.epoch) return false;
  return mark_of(*end_of(wish)) == wish.mark && !is_so(wish);
}

void ShardSwaps::reopen(Wish& wish) {
  wish.is_over = wish.is_ordered = false;
  wait(wish, SwapStatus::Ready, "");
}

void ShardSwaps::advance(Wish& wish, Instant now) {
  sdr::Link& link = link_of(wish);
  if (!link.is_up()) {
    wish.is_ordered = false;
    return wait(wish, SwapStatus::Ready, "the link is down: " + link.why());
  }
  const sdr::SwapEnd* const end = end_of(wish);
  if (end == nullptr) {
    return refuse(wish, SwapStatus::NotAllowed, "the class does not carry this direction");
  }
  const bool is_its_own = wish.is_ordered && mark_of(*end) == wish.mark;
  if (is_its_own && !end->is_idle()) return;
  if (is_its_own && !end->report().is_cut_off) return conclude(wish, *end, now);
  if (end->is_idle() && is_so(wish)) return conclude(wish, *end, now);
  if (!wish.is_latest) return refuse(wish, SwapStatus::Busy, "another was wanted meanwhile");
  place(wish, now);
}

/// That of the other direction, where they are one order that has not begun.
ShardSwaps::Wish* ShardSwaps::partner_of(const Wish& wish) {
  const auto is_partner = [&](const Wish& each) {
    return wish.order != 0 && each.order == wish.order && each.link == wish.link &&
           each.role != wish.role && !each.is_over && !is_so(each);
  };
  const auto found = std::ranges::find_if(wishes_, is_partner);
  return found == wishes_.end() ? nullptr : &*found;
}

void ShardSwaps::place(Wish& wish, Instant now) {
  Wish* const partner = partner_of(wish);
  const auto both = [&](const auto& act) {
    act(wish);
    if (partner != nullptr) act(*partner);
  };
  bool is_busy = false;
  both([&](const Wish& each) { is_busy |= !end_of(each)->is_idle(); });
  if (!is_busy) wish.busy_until = Instant::never();
  if (is_busy) {
    if (wish.busy_until == Instant::never()) wish.busy_until = now + busy_max;
    const auto say = now < wish.busy_until ? wait : refuse;
    return both([&](Wish& each) { say(each, SwapStatus::Busy, "the one before is not over"); });
  }
  bool is_watched = true;
  both([&](const Wish& each) { is_watched &= !each.guard || each.guard->is_ready(now); });
  if (!is_watched) {
    return both([](Wish& each) {
      wait(each, SwapStatus::Ready, "its guard watches the policy before it");
    });
  }
  both([&](Wish& each) {
    each.before = link_of(each).swap_desk().policy(each.wanted.class_index, each.role);
  });
  const auto role = partner == nullptr ? std::optional(wish.role) : std::nullopt;
  const auto ordered =
      link_of(wish).order_swap(wish.wanted.class_index, role, wish.wanted.policy, now);
  if (!ordered) {
    return both(
        [&](Wish& each) { refuse(each, SwapStatus::NotAllowed, ordered.error().sentence); });
  }
  both([&](Wish& each) {
    each.is_ordered = true;
    each.mark = mark_of(*end_of(each));
  });
}

/// As the link tells it, if it was asked; else it was so already.
void ShardSwaps::conclude(Wish& wish, const sdr::SwapEnd& end, Instant now) {
  wish.is_over = true;
  wish.is_ordered = wish.is_ordered && mark_of(end) == wish.mark;
  wish.mark = mark_of(end);
  wish.epoch = link_of(wish).epoch();
  wish.view.why = "";
  wish.view.fate = Fate::Done;
  if (wish.is_ordered) tell(end.report(), wish.view);
  if (!wish.guard) return;
  if (!wish.is_ordered || wish.view.fate != Fate::Done) return wish.guard.reset();
  wish.view.guard = GuardState::Watching;
  wish.guard->swapped(end.policy_epoch(), now);
}

void ShardSwaps::refuse(Wish& wish, SwapStatus status, const std::string& why) {
  wait(wish, status, why);
  wish.is_ordered = false;
  wish.is_over = true;
  wish.guard.reset();
  wish.view.fate = Fate::NotDone;
}

void ShardSwaps::wait(Wish& wish, SwapStatus status, const std::string& why) {
  wish.view.fate = Fate::Waiting;
  wish.view.status = status;
  wish.view.why = why;
  wish.view.id = 0;
}

// ---- guarded ----

void ShardSwaps::watch(Wish& wish, Instant now) {
  if (!wish.is_over) return wish.guard->add(sample_of(wish, now), now);
  const sdr::SwapEnd* const end = end_of(wish);
  if (link_of(wish).epoch() != wish.epoch || !link_of(wish).is_up()) {
    return end_watch(wish, GuardState::Undecided, "the link has begun anew since");
  }
  if (mark_of(*end) != wish.mark) {
    return end_watch(wish, GuardState::Undecided, "another swap has followed");
  }
  wish.guard->add(sample_of(wish, now), now);
  judge(wish, now);
}

/// Of what is sent the peer knows what became.
std::optional<GuardSample> ShardSwaps::sample_of(const Wish& wish, Instant now) const {
  sdr::Link& link = link_of(wish);
  if (!link.is_up()) return std::nullopt;
  const uint16_t qp = wish.wanted.class_index;
  const bool is_outward = wish.role == CW_SOURCE;
  if (is_outward) link.outcomes().listen();
  const auto outcome = is_outward ? link.outcomes().there(qp) : link.outcomes().here(qp, now);
  if (!outcome) return std::nullopt;
  GuardSample sample{.outcome = *outcome, .rtt = {}};
  for (uint16_t path = 0; path < link.path_health().paths(); ++path) {
    const PathState here = link.path_state(path, now);
    const PathReport& there = link.path_report_there(path);
    sample.line_arrived += is_outward ? there.received : here.arrived;
    sample.line_lost += is_outward ? there.lost : here.lost;
    sample.rtt = std::max(sample.rtt, here.rtt_smoothed);
  }
  return sample;
}

void ShardSwaps::judge(Wish& wish, Instant now) {
  const auto verdict = wish.guard->verdict(now);
  if (!verdict) return;
  if (verdict->state != GuardState::SwappedBack) {
    return end_watch(wish, verdict->state, verdict->why);
  }
  const auto ordered =
      link_of(wish).order_swap(wish.wanted.class_index, wish.role, wish.before, now);
  if (ordered) return end_watch(wish, GuardState::SwappedBack, verdict->why);
  end_watch(wish, GuardState::Undecided,
            verdict->why + "; it cannot be swapped back: " + ordered.error().sentence);
}

/// Once only: what it comes back to is nobody's order.
void ShardSwaps::end_watch(Wish& wish, GuardState state, const std::string& why) {
  wish.view.guard = state;
  wish.view.guard_says = why;
  if (state == GuardState::SwappedBack) wish.is_latest = false;
  wish.guard.reset();
}

// ---- told ----

SwapView ShardSwaps::view_of(size_t link, const WantedPolicy& wanted) const {
  const sdr::Link& its = *endpoint_.links()[link];
  SwapView view;
  view.peer = its.peer();
  view.link = wire_link_of(its.number());
  view.class_index = wanted.class_index;
  view.policy = text_of(wanted.policy.name);
  view.params = text_of(wanted.policy.params);
  return view;
}

/// Nothing: there was none, or a wish that is over tells it.
std::optional<SwapView> ShardSwaps::latest(size_t link, uint16_t class_index, cw_role role) const {
  const sdr::SwapEnd* const end = endpoint_.links()[link]->swap(class_index, role);
  if (end == nullptr || end->report().fate == SwapReport::Fate::None) return std::nullopt;
  SwapView view = view_of(link, {.class_index = class_index, .policy = end->report().policy});
  view.is_outward = role == CW_SOURCE;
  tell(end->report(), view);
  for (const Wish& wish : wishes_) {
    const bool is_its_own = wish.order != 0 && wish.is_ordered && wish.mark == mark_of(*end) &&
                            wish.link == link && wish.role == role &&
                            wish.wanted.class_index == class_index;
    if (!is_its_own) continue;
    if (wish.is_over) return std::nullopt;
    view.order = wish.order;
  }
  return view;
}

std::vector<SwapView> ShardSwaps::views() const {
  std::vector<SwapView> views;
  for (const Wish& wish : wishes_) {
    const bool link_tells = wish.is_ordered && !wish.is_over;
    if (!link_tells) views.push_back(wish.view);
  }
  for (size_t link = 0; link < endpoint_.links().size(); ++link) {
    if (!endpoint_.links()[link]->swap_desk().has_history()) continue;
    for (size_t i = 0; i < classes_; ++i) {
      for (const cw_role role : {CW_SOURCE, CW_SINK}) {
        const auto view = latest(link, static_cast<uint16_t>(i), role);
        if (view) views.push_back(*view);
      }
    }
  }
  return views;
}

}  // namespace cw::site
