#include "control/deploy/file/between.h"

#include <algorithm>
#include <cctype>

#include "control/config/nearest.h"
#include "control/config/quantity.h"
#include "control/deploy/file/site_tree.h"
#include "control/gateway/keys/config.h"
#include "control/gateway/keys/prefix.h"
#include "dataplane/neighbour/address.h"

namespace cw::deploy {
namespace {

Place place_of(const Node& row, const char* key) {
  const Node* const value = find(row, {key});
  return value == nullptr ? row.place : value->place;
}

std::string named(const SiteRow& site) { return "site \"" + site.name + "\""; }

std::vector<std::string> names_of(const Deployment& deployment) {
  std::vector<std::string> names;
  names.reserve(deployment.sites.size());
  for (const SiteRow& each : deployment.sites) names.push_back(each.name);
  return names;
}

/// "; did you mean "north"?", or who there is.
std::string hint(const std::string& name, const std::vector<std::string>& known) {
  const std::string near(config::nearest(name, known));
  if (!near.empty()) return "; did you mean \"" + near + "\"?";
  std::string all;
  for (const std::string& each : known) all += (all.empty() ? "; there are " : ", ") + each;
  return all;
}

int64_t mtu_at(const Node& lan) {
  constexpr int64_t otherwise = 1500;
  const Node* const mtu = find(lan, {"mtu"});
  return mtu != nullptr && mtu->kind == Node::Kind::Integer ? mtu->integer : otherwise;
}

class Between {
 public:
  explicit Between(const Deployment& deployment) : it_(deployment) {}

  config::Mistakes run() {
    check_count();
    for (const SiteRow& site : it_.sites) {
      check_name(site);
      check_address(site);
      check_mtu(site);
      check_names_within(site, "peer", names_of(it_));
      check_names_within(site, "class", class_names());
      for (const SiteRow& before : it_.sites) {
        if (&before == &site) break;
        check_two(site, before);
      }
    }
    for (const LinkRow& link : it_.links) check_link(link);
    check_mesh();
    return std::move(mistakes_);
  }

 private:
  void add(Place place, std::string sentence) { mistakes_.push_back({place, std::move(sentence)}); }

  void check_count() {
    const size_t count = it_.sites.size();
    if (count < 2) {
      add({1, 1}, "there " + std::string(count == 0 ? "is no [[site]]" : "is one [[site]]") +
                      "; a deployment has two at least");
    } else if (count > sites_max) {
      add(it_.sites[sites_max].row.place, std::to_string(count) + " sites are too many; at most " +
                                              std::to_string(sites_max) + " are accepted");
    }
  }

  /// A file and a folder are called so, too.
  void check_name(const SiteRow& site) {
    if (site.name.empty() && find(site.row, {"name"}) == nullptr) return;  // told already
    const bool is_fine = !site.name.empty() && site.name.size() <= site::site_name_bytes_max &&
                         site.name.front() != '.' && !site.name.contains('/');
    if (is_fine) return;
    add(place_of(site.row, "name"),
        "site.name \"" + site.name +
            "\" must have 1 to 63 characters, no / and no dot in front: its file is called so");
  }

  void check_address(const SiteRow& site) {
    if (site.address.empty()) return;
    const auto address = parse_host_address(site.address, "site.address");
    if (!address) add(place_of(site.row, "address"), address.error().sentence);
  }

  std::vector<std::string> class_names() const {
    std::vector<std::string> names;
    const Node* const classes = find(it_.tree, {"class"});
    if (classes == nullptr) return {"all"};
    names.reserve(classes->items.size());
    for (const Node& each : classes->items) names.push_back(text_at(each, {"name"}));
    return names;
  }

  void check_names_within(const SiteRow& site, const char* table,
                          const std::vector<std::string>& known) {
    const Node* const rows = find(site.row, {table});
    if (rows == nullptr || rows->kind != Node::Kind::List) return;
    std::vector<std::string> seen;
    for (const Node& row : rows->items) {
      const std::string name = text_at(row, {"name"});
      const std::string what = std::string(table) + " \"" + name + "\"";
      if (std::ranges::find(known, name) == known.end()) {
        add(place_of(row, "name"), named(site) + ": there is no " + what + hint(name, known));
      } else if (std::ranges::find(seen, name) != seen.end()) {
        add(place_of(row, "name"), named(site) + ": " + what + " is there twice");
      } else if (name == site.name && std::string_view(table) == "peer") {
        add(place_of(row, "name"), named(site) + " is no peer of its own");
      }
      seen.push_back(name);
    }
    const bool is_nowhere =
        std::string_view(table) == "class" && find(it_.tree, {"class"}) == nullptr;
    if (is_nowhere) {
      add(rows->items.front().place,
          named(site) + " says something of a class, and there is no [[class]]");
    }
  }

  void check_two(const SiteRow& site, const SiteRow& before) {
    if (site.name == before.name) {
      add(place_of(site.row, "name"), named(site) + " is there twice; names must differ");
    }
    const uint16_t port = udp_port_of(it_, site);
    if (!site.address.empty() && site.address == before.address &&
        port == udp_port_of(it_, before)) {
      add(place_of(site.row, "address"), named(site) + " and " + named(before) +
                                             " both have the address " + site.address +
                                             " and wan.udp_port " + std::to_string(port));
    }
    for (const std::string& text : site.routes) {
      for (const std::string& other : before.routes) check_routes(site, text, before, other);
    }
  }

  /// As a gateway that has both for peers.
  void check_routes(const SiteRow& site, const std::string& text, const SiteRow& before,
                    const std::string& other) {
    const auto prefix = site::parse_prefix(text), taken = site::parse_prefix(other);
    if (!prefix || !taken) return;  // told where the site's file is looked at
    const bool is_shared = *prefix == *taken;
    if (!site::is_overlapping(*prefix, *taken)) return;
    if (is_shared && site.prefer != before.prefer) return;
    const std::string why = is_shared ? " is that of " + named(before) +
                                            ", which is preferred alike; where two lead to the "
                                            "same hosts, prefer must differ"
                                      : " overlaps " + other + " of " + named(before) +
                                            "; two lead to the same hosts by the same routes alone";
    add(place_of(site.row, "routes"), named(site) + ": route " + text + why);
  }

  /// Its gateway does not know what lies behind itself.
  void check_mtu(const SiteRow& site) {
    constexpr int64_t least = 1280;
    const int64_t mtu = mtu_at(table_of(it_, site, "lan"));
    for (const std::string& text : site.routes) {
      const auto prefix = site::parse_prefix(text);
      if (!prefix || !prefix->is_v6 || mtu >= least) continue;
      add(place_of(site.row, "routes"), named(site) + ": routes has " + text + " and lan.mtu is " +
                                            std::to_string(mtu) +
                                            "; IPv6 needs an MTU of 1280 at least");
    }
  }

  void check_link(const LinkRow& link) {
    const Place place = place_of(link.row, "between");
    if (link.between.size() != 2) {
      if (find(link.row, {"between"}) == nullptr) return;  // told already
      return add(place, "link.between has " + std::to_string(link.between.size()) +
                            " names; a link is between two sites");
    }
    const std::vector<std::string> known = names_of(it_);
    for (const std::string& name : link.between) {
      if (std::ranges::find(known, name) != known.end()) continue;
      add(place, "link.between: there is no site \"" + name + "\"" + hint(name, known));
    }
    if (link.between[0] == link.between[1]) {
      add(place, "link.between names \"" + link.between[0] + "\" twice");
    } else if (it_.link(link.between[0], link.between[1]) != &link) {
      add(place, "link " + link.between[0] + " - " + link.between[1] +
                     " is there twice; what is known of it stands in one");
    } else if (!it_.are_linked(link.between[0], link.between[1])) {
      add(place, "link " + link.between[0] + " - " + link.between[1] +
                     ": both lead to the same hosts, and send nothing to each other");
    }
  }

  void check_mesh() {
    for (const SiteRow& site : it_.sites) {
      bool is_alone = true, is_behind = false;
      for (const SiteRow& far : it_.sites) {
        is_behind |= &far == &site;
        if (!it_.are_linked(site.name, far.name)) continue;
        is_alone = false;
        if (it_.rtt_of(site.name, far.name) != Duration() || !is_behind) continue;
        const bool is_said = find(it_.tree, {"pair", "rtt"}) != nullptr;  // and wrong
        if (!is_said && !has_rtt_mistake_) {
          has_rtt_mistake_ = true;
          const Node* const pair = find(it_.tree, {"pair"});
          add(pair == nullptr ? Place{1, 1} : pair->place,
              "pair.rtt is missing, and no [[link]] says the rtt between " + site.name + " and " +
                  far.name);
        }
      }
      if (is_alone && it_.mesh == Mesh::Listed && it_.sites.size() > 1) {
        add(site.row.place, named(site) + " has no [[link]], and mesh is \"listed\"");
      } else if (is_alone && it_.sites.size() > 1) {
        add(site.row.place, named(site) + " has nobody to send to: all lead to the same hosts");
      }
    }
  }

  const Deployment& it_;
  config::Mistakes mistakes_;
  bool has_rtt_mistake_ = false;
};

}  // namespace

config::Mistakes mistakes_between(const Deployment& deployment) {
  return Between(deployment).run();
}

std::vector<std::string> warnings_between(const Deployment& deployment) {
  std::vector<std::string> warnings;
  const SiteRow *widest = nullptr, *narrowest = nullptr;
  const auto mtu = [&](const SiteRow& it) { return mtu_at(table_of(deployment, it, "lan")); };
  for (const SiteRow& each : deployment.sites) {
    if (widest == nullptr || mtu(each) > mtu(*widest)) widest = &each;
    if (narrowest == nullptr || mtu(each) < mtu(*narrowest)) narrowest = &each;
  }
  if (widest != nullptr && mtu(*widest) != mtu(*narrowest)) {
    warnings.push_back("lan.mtu is " + std::to_string(mtu(*widest)) + " at " + widest->name +
                       " and " + std::to_string(mtu(*narrowest)) + " at " + narrowest->name +
                       ": what is larger than the other site's goes no further than its gateway");
  }
  for (const LinkRow& link : deployment.links) {
    for (const std::string& name : link.between) {
      const SiteRow* const site = deployment.site(name);
      if (site == nullptr || link.rate == Rate() || link.rate <= rate_of(deployment, *site)) {
        continue;
      }
      warnings.push_back("link " + link.between.front() + " - " + link.between.back() +
                         " is given " + site::about(link.rate) + " and wan.rate of " + name +
                         " is " + site::about(rate_of(deployment, *site)));
    }
  }
  return warnings;
}

}  // namespace cw::deploy
