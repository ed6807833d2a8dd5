#include "control/deploy/file/site_tree.h"

#include <algorithm>
#include <array>
#include <set>

#include "control/config/quantity.h"

namespace cw::deploy {
namespace {

constexpr std::array tables = {"lan", "wan", "offload", "api"};
const std::set<std::string, std::less<>> own_keys = {
    "name",  "address", "routes", "prefer", "ask",     "class",      "peer",
    "group", "lan",     "wan",    "api",    "offload", "public_key", "next_public_key"};

const Node nothing;

const Node& defaults_of(const Deployment& deployment) {
  const Node* const found = find(deployment.tree, {"defaults"});
  return found == nullptr ? nothing : *found;
}

/// [site]: what is a key of the gateway's own.
Node site_table(const Deployment& deployment, const SiteRow& site) {
  Node made{.place = site.row.place};
  if (const Node* const name = find(site.row, {"name"})) put(made, "name", *name);
  for (const Node* const from : {&defaults_of(deployment), &site.row}) {
    for (const config::Entry& each : from->entries) {
      if (!own_keys.contains(each.name)) put(made, each.name, each.value);
    }
  }
  return made;
}

Node peer_tree(const Deployment& deployment, const SiteRow& site, const SiteRow& far) {
  Node made{.place = site.row.place};
  for (const char* const key : {"name", "address"}) {
    if (const Node* const value = find(far.row, {key})) put(made, key, *value);
  }
  constexpr int64_t udp_port = 4791;
  if (const uint16_t port = udp_port_of(deployment, far); port != udp_port) {
    put(made, "udp_port", integer_node(port, far.row.place));
  }
  for (const char* const key : {"routes", "prefer", "public_key", "next_public_key"}) {
    if (const Node* const value = find(far.row, {key})) put(made, key, *value);
  }
  const LinkRow* const link = deployment.link(site.name, far.name);
  if (link != nullptr) {
    if (const Node* const rate = find(link->row, {"rate"})) put(made, "rate", *rate);
  }
  if (const Node* const own = find_named(find(site.row, {"peer"}), far.name)) put_all(made, *own);
  return made;
}

Node peers_of(const Deployment& deployment, const SiteRow& site) {
  Node peers = list_node(site.row.place);
  for (const SiteRow& far : deployment.sites) {
    if (!deployment.are_linked(site.name, far.name)) continue;
    peers.items.push_back(peer_tree(deployment, site, far));
  }
  return peers;
}

// ---- classes

/// What a class sends by at some site, if not all say the same: each must have room for that.
std::vector<Node> policies_of(const Deployment& deployment, const Node& row) {
  std::vector<Node> all;
  const auto add = [&all](const Node* policy) {
    if (policy == nullptr || policy->kind != Node::Kind::Text) return;
    const bool is_there =
        std::ranges::any_of(all, [&](const Node& each) { return each.text == policy->text; });
    // A name that is wrong is told where it was written.
    if (!is_there) all.push_back(text_node(policy->text, {}));
  };
  bool has_other = false;
  for (const SiteRow& site : deployment.sites) {
    const Node* const own = find_named(find(site.row, {"class"}), text_at(row, {"name"}));
    const Node* const policy = own == nullptr ? nullptr : find(*own, {"policy"});
    has_other |= policy != nullptr;
    add(policy != nullptr ? policy : find(row, {"policy"}));
  }
  return has_other ? all : std::vector<Node>();
}

Node class_tree(const Deployment& deployment, const SiteRow& site, const Node& row) {
  Node made = row;
  if (row.kind != Node::Kind::Table) return made;
  if (const auto all = policies_of(deployment, row); !all.empty() && !find(row, {"policies"})) {
    Node policies = list_node({});
    policies.items = all;
    put(made, "policies", policies);
  }
  const Node* const own = find_named(find(site.row, {"class"}), text_at(row, {"name"}));
  if (own == nullptr) return made;
  // The parameters of one policy are none of another's.
  if (find(*own, {"policy"}) != nullptr) take_out(made, "params");
  put_all(made, *own);
  return made;
}

}  // namespace

Node table_of(const Deployment& deployment, const SiteRow& site, const std::string& name) {
  Node made{.place = site.row.place};
  for (const Node* const from : {&defaults_of(deployment), &site.row}) {
    const Node* const table = find(*from, {name});
    if (table == nullptr) continue;
    // What is no table is told where all keys are read.
    if (table->kind == Node::Kind::Table) put_all(made, *table);
  }
  return made;
}

uint16_t udp_port_of(const Deployment& deployment, const SiteRow& site) {
  constexpr uint16_t otherwise = 4791;
  const Node wan = table_of(deployment, site, "wan");
  const Node* const port = find(wan, {"udp_port"});
  const bool is_port = port != nullptr && port->kind == Node::Kind::Integer && port->integer > 0 &&
                       port->integer <= UINT16_MAX;
  return is_port ? static_cast<uint16_t>(port->integer) : otherwise;
}

static Rate rate_at(const Node& table, const char* key) {
  const auto rate = config::parse_quantity(config::Quantity::Rate, text_at(table, {key}));
  return rate && *rate > 0 ? Rate::from_bps(static_cast<uint64_t>(*rate)) : Rate();
}

Rate rate_of(const Deployment& deployment, const SiteRow& site) {
  return rate_at(table_of(deployment, site, "wan"), "rate");
}

// ---- [pair]

namespace {

/// Asks `is_more` of each link and the chosen one so far.
struct Chosen {
  const SiteRow *a = nullptr, *b = nullptr;
  std::string names() const { return a->name + " - " + b->name; }
};

template <class IsMore>
Chosen choose(const Deployment& deployment, const IsMore& is_more) {
  Chosen chosen;
  for (auto a = deployment.sites.begin(); a != deployment.sites.end(); ++a) {
    for (auto b = a + 1; b != deployment.sites.end(); ++b) {
      if (!deployment.are_linked(a->name, b->name)) continue;
      const Chosen now{&*a, &*b};
      if (chosen.a == nullptr || is_more(now, chosen)) chosen = now;
    }
  }
  return chosen;
}

/// The value that this link has, or all have.
const Node* value_of(const Deployment& deployment, const Chosen& link, const char* key) {
  const LinkRow* const row = deployment.link(link.a->name, link.b->name);
  const Node* const own = row == nullptr ? nullptr : find(row->row, {key});
  return own != nullptr ? own : find(deployment.tree, {"pair", key});
}

void put_rtt(const Deployment& deployment, CommonPair& pair) {
  const auto rtt = [&](const Chosen& it) { return deployment.rtt_of(it.a->name, it.b->name); };
  const Chosen longest = choose(
      deployment, [&](const Chosen& it, const Chosen& so_far) { return rtt(it) > rtt(so_far); });
  const Node* const value = longest.a == nullptr ? nullptr : value_of(deployment, longest, "rtt");
  if (value == nullptr) return;
  put(pair.tree, "rtt", *value);
  pair.remarks["pair.rtt"] = "the longest link, " + longest.names();
}

void put_mtu(const Deployment& deployment, CommonPair& pair) {
  const auto mtu = [&](const Chosen& it) { return deployment.mtu_of(it.a->name, it.b->name); };
  const Chosen smallest = choose(
      deployment, [&](const Chosen& it, const Chosen& so_far) { return mtu(it) < mtu(so_far); });
  if (smallest.a == nullptr) return;
  const Node* const value = value_of(deployment, smallest, "mtu");
  const uint32_t least = mtu(smallest);
  put(pair.tree, "mtu", value != nullptr ? *value : integer_node(least, pair.tree.place));
  pair.remarks["pair.mtu"] = "the narrowest link, " + smallest.names();
  for (const LinkRow& each : deployment.links) {
    if (each.mtu <= least || each.between.size() != 2) continue;
    pair.warnings.push_back("link " + each.between[0] + " - " + each.between[1] + " carries " +
                            std::to_string(each.mtu) + " bytes and is used with " +
                            std::to_string(least) + ", since a gateway has one pair.mtu and " +
                            smallest.names() + " carries no more");
  }
}

/// Sites with other rates of their own would make other memory of none.
void put_rate(const Deployment& deployment, CommonPair& pair) {
  if (find(pair.tree, {"rate"}) != nullptr) return;
  const SiteRow* fastest = nullptr;
  for (const SiteRow& each : deployment.sites) {
    if (fastest == nullptr || rate_of(deployment, each) > rate_of(deployment, *fastest)) {
      fastest = &each;
    }
  }
  if (fastest == nullptr || rate_of(deployment, *fastest) == Rate()) return;
  put(pair.tree, "rate", *find(table_of(deployment, *fastest, "wan"), {"rate"}));
  pair.remarks["pair.rate"] = "wan.rate of the fastest site, " + fastest->name;
}

/// Each core has a link of its own.
void put_links(const Deployment& deployment, CommonPair& pair) {
  if (find(pair.tree, {"links"}) != nullptr) return;
  size_t most = 1;
  const SiteRow* which = nullptr;
  for (const SiteRow& each : deployment.sites) {
    const Node* cores = find(each.row, {"cores"});
    if (cores == nullptr) cores = find(defaults_of(deployment), {"cores"});
    if (cores == nullptr || cores->items.size() <= most) continue;
    most = cores->items.size(), which = &each;
  }
  if (which == nullptr) return;
  put(pair.tree, "links", integer_node(static_cast<int64_t>(most), which->row.place));
  pair.remarks["pair.links"] = "as many as " + which->name + " has cores";
}

}  // namespace

CommonPair common_pair(const Deployment& deployment) {
  CommonPair pair;
  const Node* const written = find(deployment.tree, {"pair"});
  if (written != nullptr && written->kind == Node::Kind::Table) pair.tree = *written;
  take_out(pair.tree, "rtt"), take_out(pair.tree, "mtu");
  put_rtt(deployment, pair);
  put_mtu(deployment, pair);
  put_rate(deployment, pair);
  put_links(deployment, pair);
  return pair;
}

std::vector<SiteTree> site_trees(const Deployment& deployment, const CommonPair& pair) {
  std::vector<SiteTree> trees;
  for (const SiteRow& site : deployment.sites) {
    Node tree{.place = site.row.place};
    put(tree, "site", site_table(deployment, site));
    for (const char* const name : tables) {
      Node table = table_of(deployment, site, name);
      const Node* const address = find(site.row, {"address"});
      const bool is_wan = std::string_view(name) == "wan";
      if (is_wan && address != nullptr && find(table, {"address"}) == nullptr) {
        put(table, "address", *address);
      }
      if (!table.entries.empty()) put(tree, name, std::move(table));
    }
    put(tree, "pair", pair.tree);
    const Node* const classes = find(deployment.tree, {"class"});
    if (classes != nullptr) {
      Node rows = *classes;
      for (Node& row : rows.items) row = class_tree(deployment, site, row);
      put(tree, "class", std::move(rows));
    }
    put(tree, "peer", peers_of(deployment, site));
    if (const Node* const groups = find(site.row, {"group"})) put(tree, "group", *groups);
    trees.push_back({site.name, std::move(tree)});
  }
  return trees;
}

}  // namespace cw::deploy
