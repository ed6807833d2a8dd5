#include "control/deploy/order/need.h"

#include <algorithm>
#include <map>
#include <optional>

#include "control/deploy/file/prefixes.h"
#include "control/deploy/order/reach.h"
#include "control/gateway/keys/prefix.h"

namespace cw::deploy {
namespace {

using site::Change;
using site::KeyKind;
using site::Plan;

/// A site as another one has it among its peers.
struct Seen {
  std::string address;  // with its ports
  std::set<std::string> routes;
};
using Peers = std::map<std::string, Seen>;

Peers peers_of(const Node& tree) {
  Peers peers;
  const Node* const rows = find(tree, {"peer"});
  if (rows == nullptr) return peers;
  for (const Node& row : rows->items) {
    Seen& seen = peers[text_at(row, {"name"})];
    const auto shown = [&row](const char* key, const char* otherwise) {
      const Node* const value = find(row, {key});
      return " " + (value == nullptr ? otherwise : value->shown());
    };
    seen.address =
        text_at(row, {"address"}) + shown("udp_port", "4791") + shown("source_port", "0");
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
  uint32_t payload_max = 0;
};

Version version_of(const OldFile& file) {
  Version version;
  if (auto tree = config::parse_toml(file.text)) version.tree = std::move(*tree);
  version.peers = peers_of(version.tree);
  if (auto plan = plan_of(file.site + ".toml", file.text)) version.plan = std::move(*plan);
  version.payload_max = file.payload_max;
  if (version.payload_max == 0 && version.plan) {
    version.payload_max = version.plan->wan.payload_bytes_max;
  }
  return version;
}

struct Both {
  std::map<std::string, Version> before;
  std::map<std::string, Peers> after;
};

// ---- of one site

bool has_kind(const std::vector<Change>& changes, KeyKind kind) {
  return std::ranges::find(changes, kind, &Change::kind) != changes.end();
}

/// What the changes of a site that runs take. True: the links that carry stay as they are, and
/// those of its next start are of another shape.
bool settle_act(const Version& was, const SiteFile& file, SiteChange& it) {
  const bool has_other_key = has_kind(it.changes, KeyKind::Keys);
  bool starts = has_other_key || has_kind(it.changes, KeyKind::Restart);
  if (!was.plan) {
    it.notes = {"what it is compared with has mistakes, so what runs is not known"};
  } else if (!starts) {
    Reach reach =
        reach_of({*was.plan, was.tree, {.payload_max = was.payload_max}}, file, it.changes);
    it.notes = std::move(reach.beyond);
    it.need.is_by_links = reach.is_by_links;
  }
  starts |= !it.notes.empty();
  it.need.act = starts ? Act::Restart : Act::Reload;
  it.need.is_by_links &= !starts;
  const bool is_other_shape = was.plan && shape_of(*was.plan) != shape_of(file.plan);
  const bool takes_shape = starts || it.need.is_by_links;
  it.need.is_alike = has_other_key || (is_other_shape && takes_shape);
  return is_other_shape && !takes_shape;
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
      if (old.address == place.address ||
          any_pair(old.routes, place.routes, site::is_overlapping)) {
        comes.need.follows.insert(goes.need.site);
      }
    }
  }
}

/// Who goes on by links as they are, and would start with others: if any site has such, all do.
void settle_starts(std::vector<SiteChange>& all, const std::set<std::string>& at_start) {
  const bool has_other = std::ranges::any_of(all, [](const SiteChange& each) {
    const Need& need = each.need;
    return !need.is_nothing && need.act != Act::Stop && (need.act != Act::Reload || need.is_alike);
  });
  for (SiteChange& each : all) {
    if (!at_start.contains(each.need.site)) continue;
    if (has_other) {
      each.need.act = Act::Restart;
      each.need.is_alike = true;
    } else {
      each.notes.emplace_back(
          "links carry on with the room that they have, and a site that starts has another: from "
          "then on it has links with those alone that have started, too");
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
    if (settle_act(was, file, it)) at_start.insert(file.name);
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
