// The keys of a [[group]], and whose hosts may send to groups.
#include <algorithm>
#include <string>

#include "control/gateway/keys/config.h"
#include "control/gateway/keys/prefix.h"
#include "dataplane/gateway/ingress/addresses.h"
#include "dataplane/neighbour/address.h"

namespace cw::site {

using config::KeyKind;
using config::Section;
using gateway::Prefix;

namespace {

constexpr uint32_t ipv6_mtu_min = 1280;

bool has_own(const Config& config, bool is_v6) {
  return std::ranges::any_of(config.own_prefixes,
                             [is_v6](const Prefix& each) { return each.is_v6 == is_v6; });
}

std::string named(const GroupConfig& it) { return "group \"" + it.address + "\""; }

/// False: it was complained about.
bool try_read_address(Section& row, GroupConfig& it, const Config& config) {
  const auto wrong = [&](const std::string& why) {
    return row.complain("address", "group.address \"" + it.address + "\" " + why), false;
  };
  const auto address = parse_host_address(it.address, "group.address");
  if (!address) {
    return wrong("is no multicast address such as \"239.1.2.3\" or \"ff05::1:2\"");
  }
  it.options.address = address->ip;
  it.options.is_v6 = !address->is_v4();
  if (!gateway::is_group(it.options.address, it.options.is_v6)) {
    return wrong("is one host's; a group's is of 224.0.0.0/4 or ff00::/8");
  }
  if (gateway::is_link_local(it.options.address, it.options.is_v6)) {
    return wrong(
        "is of one link, which no router carries on; take one of 239.0.0.0/8 or ff05::/16");
  }
  if (it.options.is_v6 && config.lan.mtu < ipv6_mtu_min) {
    return wrong("is IPv6 and lan.mtu is " + std::to_string(config.lan.mtu) +
                 "; IPv6 needs an MTU of 1280 at least");
  }
  if (!has_own(config, it.options.is_v6)) {
    return wrong(std::string("has nobody here who may send to it: lan.prefixes names no ") +
                 (it.options.is_v6 ? "IPv6 prefix, such as \"2001:db8:1::/48\""
                                   : "IPv4 prefix, such as \"10.1.0.0/16\""));
  }
  return true;
}

void check_alike(Section& row, const GroupConfig& it, const Config& config) {
  for (const auto& other : config.groups) {
    if (other.get() == &it) return;
    const bool is_alike =
        other->options.address == it.options.address && other->options.is_v6 == it.options.is_v6;
    if (is_alike) return row.complain("address", named(it) + " is there twice");
  }
}

void read_class(Section& row, GroupConfig& it, const Config& config) {
  if (it.class_name.empty()) return;
  std::string known;
  for (size_t i = 0; i < config.classes.size(); ++i) {
    if (config.classes[i]->name == it.class_name) {
      it.options.class_index = static_cast<uint16_t>(i);
      return;
    }
    known += (known.empty() ? "" : ", ") + config.classes[i]->name;
  }
  row.complain("class",
               named(it) + ": there is no class \"" + it.class_name + "\"; known here: " + known);
}

void read_sites(Section& row, GroupConfig& it, const Config& config) {
  it.options.peers = it.sites;
  for (size_t i = 0; i < it.sites.size(); ++i) {
    const std::string& name = it.sites[i];
    const bool is_twice = std::ranges::find(it.sites, name) != it.sites.begin() + i;
    const auto is_it = [&name](const auto& peer) { return peer->name == name; };
    if (is_twice) {
      row.complain("sites", named(it) + ": sites has \"" + name + "\" twice");
    } else if (std::ranges::none_of(config.peers, is_it)) {
      row.complain("sites",
                   named(it) + ": sites has \"" + name + "\", which is the name of no [[peer]]");
    }
  }
}

void declare_group(Section& row, GroupConfig& it, const ConfigPtr& config) {
  row.all_are(KeyKind::Live);
  row.key("address", it.address, "Such as \"239.1.2.3\" or \"ff05::1:2\".").required();
  row.key("class", it.class_name, "By which its frames travel; empty: the first that matches.");
  row.key("sites", it.sites, "The peers whose hosts get its frames, by name; none: all.");
  row.key("ttl", it.options.ttl, "With which a frame leaves at most; one hop less, if it has less.")
      .range(2, 255);
  row.then([config, &it](Section& here) {
    if (it.address.empty()) return;  // told already
    if (try_read_address(here, it, *config)) check_alike(here, it, *config);
    read_class(here, it, *config);
    read_sites(here, it, *config);
  });
}

void read_prefixes(Section& lan, Config& config) {
  for (const std::string& text : config.lan.prefix_texts) {
    const auto prefix = parse_prefix(text);
    if (prefix) {
      config.own_prefixes.push_back(*prefix);
    } else {
      lan.complain("prefixes", "lan.prefixes: " + prefix.error().sentence);
    }
  }
  if (!config.lan.prefix_texts.empty()) return;
  for (const Prefix& each : config.lan_addresses) config.own_prefixes.push_back(network_of(each));
}

/// Hosts of a prefix are on one side; of one inside another, the longer says on which.
void check_sides(Section& file, const Config& config) {
  if (config.lan.prefix_texts.empty()) return;  // told of lan.addresses
  for (const Prefix& own : config.own_prefixes) {
    for (const auto& peer : config.peers) {
      if (std::ranges::find(peer->routes, own) == peer->routes.end()) continue;
      file.complain("lan", "lan.prefixes has " + prefix_text(own) +
                               ", which is a route of peer \"" + peer->name +
                               "\"; hosts are on one side");
    }
  }
}

}  // namespace

void declare_lan_prefixes(Section& lan, const ConfigPtr& config) {
  lan.key("prefixes", config->lan.prefix_texts,
          "Of this side's hosts, who alone may send to groups; none: those of lan.addresses.")
      .kind(KeyKind::Live);
  lan.then([config](Section& here) { read_prefixes(here, *config); });
}

void declare_groups(Section& file, const ConfigPtr& config) {
  check_sides(file, *config);
  file.rows(
      "group", "A multicast group whose frames cross, each once to every site; all others stay.",
      [config](Section& row, size_t) {
        declare_group(row, *config->groups.emplace_back(std::make_unique<GroupConfig>()), config);
      });
  file.then([config](Section& here) {
    if (config->groups.size() <= limits::groups_max) return;
    here.complain("group", std::to_string(config->groups.size()) +
                               " groups are too many; at most " +
                               std::to_string(limits::groups_max) + " are accepted");
  });
}

}  // namespace cw::site
