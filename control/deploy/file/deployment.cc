#include "control/deploy/file/deployment.h"

#include <algorithm>
#include <functional>
#include <set>

#include "control/deploy/file/prefixes.h"
#include "control/gateway/keys/config.h"
#include "policies/policies.h"

namespace cw::deploy {

using config::Key;
using config::Section;

namespace {

/// What [[site.class]], [[site.peer]] and [[site.group]] are read into; the rows themselves are
/// what is used.
struct Other {
  std::string name, text, next_hop;
  std::vector<std::string> names;
  uint8_t ttl = gateway::GroupOptions::ttl_default;
  uint16_t udp_port = 4791, source_port = 0, prefer = gateway::PeerRoutes::prefer_default;
  Rate rate;
  uint32_t weight = 1;
  Duration time = Duration::max();
  bool mark = true;
};

/// A gateway's file and the variables of its keys, which take what is read here and tell nobody.
struct Vocabulary {
  site::ConfigPtr config = std::make_shared<site::Config>();
  Section gateway;
  std::deque<Other> others;  // by row; keys are bound to them

  Vocabulary() {
    site::declare(gateway, config);
    config::kinds_of(gateway);  // what is declared later is, too
  }
  Section* table(std::string_view name) {
    const auto found = std::ranges::find(gateway.tables(), name, &Section::name);
    return found == gateway.tables().end() ? nullptr : &*found;
  }
};

using Words = std::shared_ptr<Vocabulary>;

/// The keys of a gateway's table, none of them required: another table may have them.
void copy_keys(const Section& from, Section& to, const std::set<std::string>& but = {}) {
  for (const Key& each : from.keys()) {
    if (but.contains(each.name())) continue;
    to.add(each).required(false);
  }
}

void copy_table(Section& from, Section& to) {
  copy_keys(from, to);
  for (Section& inner : from.tables()) copy_table(inner, to.table(inner.name(), inner.sentence()));
}

void copy_tables(Section& to, Vocabulary& words) {
  for (const char* const name : {"lan", "wan", "offload", "api"}) {
    Section& from = *words.table(name);
    copy_table(from, to.table(name, from.sentence()));
  }
}

/// A policy may be one of a plugin, which the gateway's schema knows when it has been loaded: these
/// are looked at in each site's file.
void declare_classes(Section& file, const Words& words) {
  file.rows("class",
            "As in a gateway's file, in this order at every site. A site may say otherwise of some "
            "keys, in [[site.class]].",
            [words](Section& row, size_t) {
              words->config->classes.push_back(std::make_unique<site::ClassConfig>());
              site::declare_class(row, *words->config->classes.back(), words->config);
            });
}

void declare_site_class(Section& row, Other& it) {
  row.key("name", it.name, "Which [[class]].").required();
  row.key("policy", it.text, "By what this site sends; params then are this one's.");
  row.key("weight", it.weight, "As in [[class]].").range(1, 1000);
  row.key("queue", it.time, "As in [[class]].").range("1 ms", "10 s").or_none();
  row.key("block_age", it.time, "As in [[class]].").range("10 us", "1 s").or_none();
  row.key("mark", it.mark, "As in [[class]].");
  row.table("params", "What the policy lets one choose, as in [class.params].");
}

void declare_site_peer(Section& row, Other& it) {
  row.key("name", it.name, "Which [[site]].").required();
  row.key("address", it.text, "Where this site reaches it, if not at its address.");
  row.key("udp_port", it.udp_port, "The same of its wan.udp_port.").range(1, 65535);
  row.key("source_port", it.source_port, "As in [[peer]].").range(0, 65535);
  row.key("next_hop", it.next_hop, "Over DPDK: a MAC or a router's IP.");
  row.key("prefer", it.prefer, "What this site prefers it by, if not by its own.")
      .range(0, UINT16_MAX);
  row.key("rate", it.rate, "What it is sent at most; none: the link's, or an equal share.")
      .or_none();
  row.key("preshared_key_file", it.text, "A secret of these two sites besides; empty: none.");
}

void declare_site_group(Section& row, Other& it) {
  row.key("address", it.text, "As in a gateway's file.").required();
  row.key("class", it.name, "Which [[class]]; empty: the first that matches.");
  row.key("sites", it.names, "Whose hosts get its frames, by name; none: all.");
  row.key("ttl", it.ttl, "As in a gateway's file.").range(2, 255);
}

void declare_site(Section& row, SiteRow& it, const Words& words) {
  row.key("name", it.name, "What it is called; the file is NAME.toml.").required();
  row.key("address", it.address,
          "Where the others reach its gateway; wan.address, too, if left out.")
      .required();
  row.key("routes", it.routes, "What lies behind it, such as \"10.2.0.0/16\".").required();
  row.key("prefer", it.prefer,
          "Of twins, gateways with a route alike, packets go by the one that is up, does not drain "
          "and has the highest.")
      .range(0, UINT16_MAX);
  row.key("public_key", it.public_key,
          "Who it is: what `causeway-key public` says of its private_key_file.");
  row.key("next_public_key", it.next_public_key,
          "Taken for it as well, while it changes its key; empty: there is none.");
  row.key("ask", it.ask,
          "Where its API is asked, https://HOST:PORT; empty: by api.listen, or its sockets.");
  copy_keys(*words->table("site"), row, {"name"});
  copy_tables(row, *words);
  row.rows("class", "What this site does otherwise for a class.", [words](Section& inner, size_t) {
    declare_site_class(inner, words->others.emplace_back());
  });
  row.rows("peer", "What this site has otherwise of another one.", [words](Section& inner, size_t) {
    declare_site_peer(inner, words->others.emplace_back());
  });
  row.rows(
      "group", "A multicast group whose frames this site's hosts send to others.",
      [words](Section& inner, size_t) { declare_site_group(inner, words->others.emplace_back()); });
}

void declare_link(Section& row, LinkRow& it) {
  row.key("between", it.between, "The names of two sites.").required();
  row.key("rtt", it.rtt, "The round trip between them; left out: pair.rtt.").range("10 us", "2 s");
  row.key("mtu", it.mtu, "The largest IP packet of the way; left out: pair.mtu.")
      .range(576, limits::frame_bytes_max);
  row.key("rate", it.rate, "What each sends the other at most; left out: a share of wan.rate.");
}

void declare_pair(Section& pair, Vocabulary& words, Deployment& it) {
  copy_keys(*words.table("pair"), pair, {"rtt", "mtu"});
  pair.key("rtt", it.rtt, "Of links that say nothing of it; all gateways get the longest of all.")
      .range("10 us", "2 s");
  pair.key("mtu", it.mtu, "Of links that say nothing of it; all gateways get the smallest of all.")
      .range(576, limits::frame_bytes_max);
}

void declare(Section& file, Deployment& it, const Words& words) {
  file.choice("mesh", it.mesh, {"full", "listed"},
              "Which sites have links: each two, or those that a [[link]] names.");
  declare_pair(file.table("pair", "What all sites have alike."), *words, it);
  Section& defaults = file.table(
      "defaults", "Of every site that does not say otherwise, as in [[site]]: keys and tables.");
  copy_keys(*words->table("site"), defaults, {"name"});
  copy_tables(defaults, *words);
  declare_classes(file, words);
  file.rows(
      "site", "A site: its own keys, those of a gateway's [site], and its tables within.",
      [&it, words](Section& row, size_t) { declare_site(row, it.sites.emplace_back(), words); });
  file.rows("link", "What is known of the way between two sites.",
            [&it](Section& row, size_t) { declare_link(row, it.links.emplace_back()); });
}

/// Rows stand in the order of the file.
template <class Rows>
void add_rows(Rows& rows, const Node& tree, const char* name) {
  const Node* const list = find(tree, {name});
  for (size_t i = 0; list != nullptr && i < std::min(rows.size(), list->items.size()); ++i) {
    rows[i].row = list->items[i];
  }
}

/// The policy's own table says what these are, in each site's file.
Node without_params(Node tree) {
  take_out(tree, "class");
  for (config::Entry& each : tree.entries) {
    if (each.name != "site" || each.value.kind != Node::Kind::List) continue;
    for (Node& row : each.value.items) {
      const auto classes = std::ranges::find(row.entries, "class", &config::Entry::name);
      if (classes == row.entries.end()) continue;
      for (Node& item : classes->value.items) take_out(item, "params");
    }
  }
  return tree;
}

}  // namespace

config::Mistakes read_deployment(Deployment& deployment, std::string_view text) {
  auto tree = config::parse_toml(text);
  if (!tree) return {tree.error()};
  Section file;
  declare(file, deployment, std::make_shared<Vocabulary>());
  config::Mistakes mistakes = config::read(file, without_params(*tree));
  add_rows(deployment.sites, *tree, "site");
  add_rows(deployment.links, *tree, "link");
  deployment.tree = std::move(*tree);
  return mistakes;
}

std::string all_keys() {
  Deployment deployment;
  Section file;
  declare(file, deployment, std::make_shared<Vocabulary>());
  return config::help(file);
}

const SiteRow* Deployment::site(std::string_view name) const {
  const auto found = std::ranges::find(sites, name, &SiteRow::name);
  return found == sites.end() ? nullptr : &*found;
}

const LinkRow* Deployment::link(const std::string& a, const std::string& b) const {
  const auto found = std::ranges::find_if(links, [&](const LinkRow& each) {
    return each.between == std::vector{a, b} || each.between == std::vector{b, a};
  });
  return found == links.end() ? nullptr : &*found;
}

bool are_twins(const SiteRow& a, const SiteRow& b) {
  return any_pair(a.routes, b.routes, std::equal_to<>());
}

bool Deployment::are_linked(const std::string& a, const std::string& b) const {
  if (a == b || (mesh == Mesh::Listed && link(a, b) == nullptr)) return false;
  const SiteRow *const here = site(a), *const there = site(b);
  return here == nullptr || there == nullptr || !are_twins(*here, *there);
}

Duration Deployment::rtt_of(const std::string& a, const std::string& b) const {
  const LinkRow* const row = link(a, b);
  return row != nullptr && row->rtt != Duration() ? row->rtt : rtt;
}

uint32_t Deployment::mtu_of(const std::string& a, const std::string& b) const {
  constexpr uint32_t otherwise = 1500;
  const LinkRow* const row = link(a, b);
  if (row != nullptr && row->mtu != 0) return row->mtu;
  return mtu != 0 ? mtu : otherwise;
}

}  // namespace cw::deploy
