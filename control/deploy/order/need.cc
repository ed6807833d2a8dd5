#include "control/deploy/order/need.h"

#include <algorithm>
#include <map>
#include <optional>

#include "control/gateway/keys/prefix.h"

namespace cw::deploy {
namespace {

using site::Change;
using site::ClassPlan;
using site::KeyKind;
using site::Plan;

/// A site as another one has it among its peers.
struct Seen {
  std::string address;  // with its port
  std::set<std::string> routes;
};
using Peers = std::map<std::string, Seen>;

Peers peers_of(const Node& tree) {
  Peers peers;
  const Node* const rows = find(tree, {"peer"});
  if (rows == nullptr) return peers;
  for (const Node& row : rows->items) {
    Seen& seen = peers[text_at(row, {"name"})];
    const Node* const port = find(row, {"udp_port"});
    seen.address = text_at(row, {"address"}) + " " + (port == nullptr ? "4791" : port->shown());
    const Node* const routes = find(row, {"routes"});
    if (routes == nullptr) continue;
    for (const Node& each : routes->items) seen.routes.insert(each.text);
  }
  return peers;
}

struct Version {
  Node tree;
  Peers peers;
  std::optional<Plan> plan;  // none: there are mistakes
};

Version version_of(const OldFile& file) {
  Version version;
  if (auto tree = config::parse_toml(file.text)) version.tree = std::move(*tree);
  version.peers = peers_of(version.tree);
  if (auto plan = plan_of(file.site + ".toml", file.text)) version.plan = std::move(*plan);
  return version;
}

struct Both {
  std::map<std::string, Version> before;
  std::map<std::string, Peers> after;
};

// ---- what of a change goes further than its keys' kinds say

/// Whether messages as they are have room for what the class will send by.
bool has_room(const ClassPlan& was, const ClassPlan& will) {
  const auto &a = was.stream, &b = will.stream;
  return b.k <= a.k && b.m_cap <= a.m_cap && b.data_slots_max <= a.data_slots_max &&
         b.repair_slots_max <= a.repair_slots_max;
}

std::vector<std::string> beyond(const Version& before, const SiteFile& file,
                                const std::vector<Change>& changes) {
  std::vector<std::string> notes;
  if (!before.plan) return {"what it is compared with has mistakes, so what runs is not known"};
  const Plan &was = *before.plan, &will = file.plan;
  const bool has_new_peer = std::ranges::any_of(changes, [](const Change& each) {
    return each.key.starts_with("peer.") && each.before.empty() && each.after.starts_with("[[");
  });
  const bool has_other_peer = std::ranges::any_of(changes, [](const Change& each) {
    return each.key.starts_with("peer.") &&
           (each.before.starts_with("[[") || each.after.starts_with("[["));
  });
  if (has_new_peer && will.peer_count() > was.peers.size()) {
    notes.push_back("it has places for " + std::to_string(was.peers.size()) +
                    " peers; site.spare_peers makes more, from a start on");
  }
  if (has_other_peer && was.wan_kind == site::WanKind::Dpdk) {
    notes.emplace_back("over DPDK its peers are those of the start");
  }
  if (!was.impair && will.impair) {
    notes.emplace_back("wan.impair was not there at the start");
  }
  return notes;
}

/// The same of classes, where what all must have alike is as it was.
std::vector<std::string> beyond_of_classes(const Plan& was, const Plan& will) {
  std::vector<std::string> notes;
  for (const ClassPlan& each : will.classes) {
    const auto old = std::ranges::find(was.classes, each.name, &ClassPlan::name);
    if (old == was.classes.end()) continue;
    if (each.hold > old->hold) {
      notes.push_back("class." + each.name + ".hold grows, and memory was made for less");
    }
    if (!has_room(*old, each)) {
      notes.push_back("class \"" + each.name + "\" has no room for blocks of " + each.policy +
                      "; its name in `policies` makes some, from a start on");
    }
  }
  return notes;
}

// ---- what all must have alike

enum class Alike : uint8_t {
  Same,
  AtStart,  ///< what runs stays as it is until any of them starts again
  Differs,
};

/// Keys that are live at each site, and that sites tell each other at a start alone.
bool is_at_start(const std::string& key) { return key.starts_with("the largest block of "); }

Alike alike(const Version& before, const SiteFile& file, const std::vector<Change>& changes) {
  if (std::ranges::any_of(changes, [](const Change& each) { return each.kind == KeyKind::Keys; })) {
    return Alike::Differs;
  }
  if (!before.plan) return Alike::Same;
  const auto &was = before.plan->peers.front().control.pair_keys,
             &will = file.plan.peers.front().control.pair_keys;
  if (was.size() != will.size()) return Alike::Differs;
  Alike found = Alike::Same;
  for (size_t i = 0; i < was.size(); ++i) {
    if (was[i] == will[i]) continue;
    if (was[i].first != will[i].first || !is_at_start(was[i].first)) return Alike::Differs;
    found = Alike::AtStart;
  }
  return found;
}

// ---- of one site

bool needs_start(const std::vector<Change>& changes) {
  return std::ranges::any_of(changes, [](const Change& each) {
    return each.kind != KeyKind::Live && each.kind != KeyKind::Swap;
  });
}

std::set<std::string> names_of(const Peers& peers) {
  std::set<std::string> names;
  for (const auto& [name, seen] : peers) names.insert(name);
  return names;
}

/// Whether some prefix lies in none of those.
bool reaches_beyond(const std::set<std::string>& prefixes, const std::set<std::string>& those) {
  return std::ranges::any_of(prefixes, [&](const std::string& text) {
    const auto prefix = site::parse_prefix(text);
    return prefix && std::ranges::none_of(those, [&](const std::string& other) {
             const auto around = site::parse_prefix(other);
             return around && around->bits <= prefix->bits &&
                    site::is_overlapping(*around, *prefix);
           });
  });
}

/// What the others, who were there and stay, send to it and did not, and the other way round.
void note_routes(const Both& both, Need& need) {
  for (const auto& [name, peers] : both.after) {
    const auto old = both.before.find(name);
    if (name == need.site || old == both.before.end()) continue;
    const auto was = old->second.peers.find(need.site), will = peers.find(need.site);
    if (was == old->second.peers.end() || will == peers.end()) continue;
    const auto &before = was->second.routes, &after = will->second.routes;
    need.gains |= reaches_beyond(after, before);
    need.loses |= reaches_beyond(before, after);
    need.moves |= was->second.address != will->second.address;
  }
}

Seen seen_of(const std::string& site, const std::map<std::string, Peers>& files) {
  for (const auto& [name, peers] : files) {
    if (const auto found = peers.find(site); found != peers.end()) return found->second;
  }
  return {};
}

bool are_overlapping(const std::set<std::string>& a, const std::set<std::string>& b) {
  return std::ranges::any_of(a, [&](const std::string& text) {
    const auto prefix = site::parse_prefix(text);
    return prefix && std::ranges::any_of(b, [&](const std::string& other) {
             const auto taken = site::parse_prefix(other);
             return taken && site::is_overlapping(*prefix, *taken);
           });
  });
}

/// Sites that go, and whose address or prefixes one that comes has.
void note_places(const Both& both, std::vector<SiteChange>& all) {
  std::map<std::string, Peers> before;
  for (const auto& [name, version] : both.before) before[name] = version.peers;
  for (SiteChange& comes : all) {
    if (comes.need.act != Act::Start) continue;
    const Seen place = seen_of(comes.need.site, both.after);
    for (const SiteChange& goes : all) {
      if (goes.need.act != Act::Stop) continue;
      const Seen old = seen_of(goes.need.site, before);
      if (old.address == place.address || are_overlapping(old.routes, place.routes)) {
        comes.need.follows.insert(goes.need.site);
      }
    }
  }
}

/// What all of them tell each other at a start differs: if one starts, all do.
void settle_starts(std::vector<SiteChange>& all, const std::set<std::string>& at_start) {
  const bool has_start = std::ranges::any_of(all, [](const SiteChange& each) {
    return !each.need.is_nothing && each.need.act != Act::Reload && each.need.act != Act::Stop;
  });
  for (SiteChange& each : all) {
    if (!at_start.contains(each.need.site)) continue;
    if (has_start) {
      each.need.act = Act::Restart;
      each.need.is_alike = true;
    } else {
      each.notes.emplace_back(
          "the room of a class stays with the peers as it was until a start, which must then be "
          "one "
          "of all sites");
    }
  }
}

}  // namespace

std::vector<SiteChange> changes_of(const std::vector<OldFile>& before,
                                   const std::vector<SiteFile>& files) {
  Both both;
  for (const OldFile& each : before) both.before[each.site] = version_of(each);
  for (const SiteFile& each : files) both.after[each.name] = peers_of(each.tree);
  std::vector<SiteChange> all;
  std::set<std::string> at_start;
  for (const SiteFile& file : files) {
    SiteChange& it = all.emplace_back();
    it.need = {.site = file.name, .peers_after = names_of(both.after[file.name])};
    const auto old = both.before.find(file.name);
    if (old == both.before.end()) {
      it.need.act = Act::Start;
      continue;
    }
    const Version& was = old->second;
    it.need.peers_before = names_of(was.peers);
    it.changes = site::changes_between(was.tree, file.tree);
    it.need.is_nothing = it.changes.empty();
    note_routes(both, it.need);
    if (it.need.is_nothing) continue;
    const Alike common = alike(was, file, it.changes);
    it.notes = beyond(was, file, it.changes);
    if (was.plan && common != Alike::Differs) {
      for (std::string& each : beyond_of_classes(*was.plan, file.plan)) {
        it.notes.push_back(std::move(each));
      }
    }
    it.need.is_alike = common == Alike::Differs;
    const bool starts = needs_start(it.changes) || !it.notes.empty() || it.need.is_alike;
    it.need.act = starts ? Act::Restart : Act::Reload;
    if (common == Alike::AtStart) at_start.insert(file.name);
  }
  for (const OldFile& each : before) {
    if (both.after.contains(each.site)) continue;
    all.push_back({.need = {.site = each.site,
                            .act = Act::Stop,
                            .peers_before = names_of(both.before[each.site].peers)},
                   .changes = {},
                   .notes = {}});
  }
  settle_starts(all, at_start);
  note_places(both, all);
  return all;
}

std::vector<Need> needs_of(const std::vector<SiteChange>& changes) {
  std::vector<Need> needs;
  needs.reserve(changes.size());
  for (const SiteChange& each : changes) needs.push_back(each.need);
  return needs;
}

}  // namespace cw::deploy
