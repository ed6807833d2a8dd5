#include "control/deploy/order/order.h"

#include <algorithm>

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

bool Progress::is_up(const std::string& a, const std::string& b) const {
  const Need *const here = need_of(a), *const there = need_of(b);
  if (here == nullptr || there == nullptr || here == there) return false;
  if (!is_running(*here) || !is_running(*there)) return false;
  if (!knows(*here, b) || !knows(*there, a)) return false;
  if (has_taken(*here) == has_taken(*there)) return true;
  // One of them has what the other has not: where that must be alike, or is the way, nothing
  // passes. Who starts has the new from the beginning.
  const Need& behind = has_taken(*here) ? *there : *here;
  const Need& ahead = has_taken(*here) ? *here : *there;
  return !behind.is_alike && !ahead.moves && !behind.moves;
}

std::vector<std::string> Progress::up_of(const std::string& site) const {
  std::vector<std::string> up;
  for (const Need& each : needs_) {
    if (is_up(site, each.site)) up.push_back(each.site);
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

std::string why_of(const Need& need) {
  switch (need.act) {
    case Act::Start:
      return "it is new: it is there before the others send to it";
    case Act::Stop:
      return "nobody sends to it any more";
    case Act::Reload:
      if (need.gains) return "packets will come for what lies behind it, so it is first to know";
      if (need.loses) return "nobody sends there any more, so it may forget what lay behind it";
      return "all that changes can be changed while traffic flows";
    case Act::Restart:
      if (need.is_alike) {
        return "what must be alike at all sites changes: until the last has it, links with the "
               "others wait";
      }
      if (need.gains)
        return "packets will come for what lies behind it, and it must start for that";
      return "some keys are read at a start; one site at a time is away";
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

}  // namespace

std::vector<Step> order_of(const std::vector<Need>& needs) {
  std::vector<Step> steps;
  Progress progress(needs);
  for (const Need* need : in_row(needs)) {
    const std::vector<std::string> before = progress.up_of(need->site);
    progress.take(need->site);
    Step step{need->site, need->act, why_of(*need), progress.up_of(need->site), {}};
    for (const std::string& far : before) {
      const bool stays = need->peers_after.contains(far);
      const bool is_up = std::ranges::find(step.waits_for, far) != step.waits_for.end();
      if (stays && !is_up) step.breaks.push_back(far);
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace cw::deploy
