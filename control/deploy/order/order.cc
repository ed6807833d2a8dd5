#include "control/deploy/order/order.h"

#include <algorithm>
#include <iterator>

namespace cw::deploy {

std::string_view name_of(Act act) {
  constexpr std::string_view names[] = {"start", "reload", "restart", "stop"};
  return names[static_cast<uint8_t>(act)];
}

// ---- which links are up

Progress::Progress(const std::vector<Need>& needs) : needs_(needs) {}

const Need* Progress::need_of(const std::string& site) const {
  const auto found = std::ranges::find(needs_, site, &Need::site);
  return found == needs_.end() ? nullptr : &*found;
}

bool Progress::is_running(const Need& need) const {
  if (need.act == Act::Start) return has_taken(need);
  return need.act != Act::Stop || !has_taken(need);
}

bool Progress::knows(const Need& need, const std::string& far) const {
  return (has_taken(need) ? need.peers_after : need.peers_before).contains(far);
}

/// Who reloads has links by both until all have the new ones.
bool Progress::has(const Need& need, By by) const {
  if (by == By::Old) return need.is_alike && (!has_taken(need) || need.is_by_links);
  return !need.is_alike || has_taken(need);
}

bool Progress::is_up(const std::string& a, const std::string& b, By by) const {
  if (by == By::Any) return is_up(a, b, By::Old) || is_up(a, b, By::New);
  const Need *const here = need_of(a), *const there = need_of(b);
  if (here == nullptr || there == nullptr || here == there) return false;
  if (!is_running(*here) || !is_running(*there)) return false;
  if (!knows(*here, b) || !knows(*there, a)) return false;
  if (has_taken(*here) != has_taken(*there) && (here->moves || there->moves)) return false;
  return has(*here, by) && has(*there, by);
}

bool Progress::awaits_links(const std::string& site) const {
  return std::ranges::any_of(needs_, [&](const Need& each) {
    return each.is_by_links && !has_taken(each) && is_up(site, each.site);
  });
}

std::vector<std::string> Progress::up_of(const std::string& site, By by) const {
  std::vector<std::string> up;
  for (const Need& each : needs_) {
    if (is_up(site, each.site, by)) up.push_back(each.site);
  }
  return up;
}

// ---- the order

namespace {

/// Earlier ones first.
int rank_of(const Need& need) {
  if (need.act == Act::Stop) return 9;
  if (need.act == Act::Start) return 1;
  if (need.gains) return 2;
  const int after = need.loses ? 6 : 3;
  return after + (need.moves ? 0 : need.act == Act::Reload ? 1 : 2);
}

std::string why_of_reload(const Need& need) {
  std::string why;
  if (need.gains) why = "packets will come for what lies behind it, so it is first to know";
  if (need.loses) why = "nobody sends there any more, so it may forget what lay behind it";
  if (!need.is_by_links) {
    return why.empty() ? "all that changes can be changed while traffic flows" : why;
  }
  if (!why.empty()) why += "; ";
  if (!need.is_alike) {
    return why +
           "links by its new keys take the place of those there are, and its peers have "
           "nothing to load for that";
  }
  return why +
         "what must be alike at all sites changes: links by the new keys stand beside those "
         "there are, and take their place when all sites have loaded them";
}

std::string why_of_restart(const Need& need) {
  if (need.is_alike) {
    return "some keys are read at a start, and what must be alike at all sites changes: it comes "
           "back with links to those alone that have the new keys";
  }
  if (need.gains) return "packets will come for what lies behind it, and it must start for that";
  return "some keys are read at a start; one site at a time is away";
}

std::string why_of(const Need& need) {
  switch (need.act) {
    case Act::Start:
      return "it is new: it is there before the others send to it";
    case Act::Stop:
      return "nobody sends to it any more";
    case Act::Reload:
      return why_of_reload(need);
    case Act::Restart:
      return why_of_restart(need);
  }
  return {};
}

/// Sites that give up their place for others go right before those.
std::vector<const Need*> in_row(const std::vector<Need>& needs) {
  std::vector<const Need*> row;
  for (const Need& each : needs) {
    if (!each.is_nothing) row.push_back(&each);
  }
  std::set<std::string> followed;
  for (const Need* each : row) followed.insert(each->follows.begin(), each->follows.end());
  const auto key = [&](const Need* need) {
    const bool is_followed = followed.contains(need->site);
    return std::pair(is_followed ? 0 : rank_of(*need), need - needs.data());
  };
  std::ranges::sort(row, [&](const Need* a, const Need* b) { return key(a) < key(b); });
  return row;
}

/// Those of `names` that `others` lacks.
std::vector<std::string> without(const std::vector<std::string>& names,
                                 const std::vector<std::string>& others) {
  std::vector<std::string> rest;
  std::ranges::copy_if(names, std::back_inserter(rest), [&](const std::string& each) {
    return std::ranges::find(others, each) == others.end();
  });
  return rest;
}

/// Takes what it needs.
Step step_of(const Need& need, Progress& progress) {
  using By = Progress::By;
  const std::vector<std::string> before = progress.up_of(need.site);
  progress.take(need.site);
  const std::vector<std::string> after = progress.up_of(need.site);
  Step step{.site = need.site, .act = need.act, .why = why_of(need)};
  step.carries_on = without(after, progress.up_of(need.site, By::New));
  step.is_links_later =
      need.is_by_links && (!step.carries_on.empty() || progress.awaits_links(need.site));
  // Of others than those by which it carries a site tells when these have their place.
  step.waits_for = step.carries_on.empty() ? after : progress.up_of(need.site, By::Old);
  step.breaks = without(before, after);
  std::erase_if(step.breaks,
                [&](const std::string& far) { return !need.peers_after.contains(far); });
  return step;
}

}  // namespace

std::vector<Step> order_of(const std::vector<Need>& needs) {
  std::vector<Step> steps;
  Progress progress(needs);
  for (const Need* need : in_row(needs)) steps.push_back(step_of(*need, progress));
  return steps;
}

}  // namespace cw::deploy
