// What can only be wrong between tables.
#include <algorithm>
#include <cstdlib>

#include "control/config/quantity.h"
#include "control/gateway/derive.h"
#include "control/gateway/keys/config.h"
#include "control/gateway/keys/prefix.h"
#include "dataplane/device/device_text.h"
#include "dataplane/gateway/ingress/addresses.h"
#include "dataplane/port/udp/udp_address.h"
#include "dataplane/wire/outer/source_index.h"

namespace cw::site {

using config::Section;

namespace {

std::string named(const PeerConfig& peer) { return "peer \"" + peer.name + "\""; }

bool is_v6(const PeerConfig& peer) { return peer.address.find(':') != std::string::npos; }

/// UDP ports that a site sends from, from its first on; whose a packet is, they say.
size_t source_ports(const Config& config) {
  const auto last = static_cast<uint16_t>(config.pair.links - 1);
  return static_cast<size_t>(first_source_port(0, last)) + config.wan.paths;
}

/// Which says where it sends from.
const char* source_key(const PeerConfig& peer) {
  return peer.source_port != 0 ? "source_port" : "udp_port";
}

size_t ports_apart(const PeerConfig& it, const PeerConfig& other) {
  return static_cast<size_t>(std::abs(int{it.first_source()} - int{other.first_source()}));
}

void check_name(Section& row, const PeerConfig& it, const PeerConfig& other, const Config& config) {
  if (it.name == other.name) {
    row.complain("name", named(it) + " is there twice; names must differ");
  }
  if (it.address == other.address && it.udp_port == other.udp_port) {
    row.complain("address", named(it) + " and " + named(other) + " both have the address " +
                                it.address + " and udp_port " + std::to_string(it.udp_port));
  } else if (it.address == other.address && ports_apart(it, other) < source_ports(config)) {
    const bool has_own = it.source_port != 0 || other.source_port != 0;
    row.complain(source_key(it), named(it) + " and " + named(other) + " at " + it.address +
                                     (has_own ? " send from " : " have udp_port ") +
                                     std::to_string(it.first_source()) + " and " +
                                     std::to_string(other.first_source()) +
                                     ", and each sends from " +
                                     std::to_string(source_ports(config)) +
                                     " ports from there on, by wan.paths and pair.links; they must "
                                     "not overlap");
  } else if (is_v6(it) != is_v6(other)) {
    row.complain("address", named(it) + ": " + it.address + " and " + other.address + " of " +
                                named(other) + " must be of one IP version");
  }
}

void check_routes(Section& row, const PeerConfig& it, const PeerConfig& other) {
  for (const gateway::Prefix& route : it.routes) {
    for (const gateway::Prefix& taken : other.routes) {
      const bool is_shared = route == taken;
      if (!is_overlapping(route, taken) || (is_shared && it.prefer != other.prefer)) continue;
      row.complain("routes",
                   named(it) + ": route " + prefix_text(route) +
                       (is_shared ? " is that of " + named(other) +
                                        ", which is preferred alike; where two lead to the same "
                                        "hosts, prefer must differ"
                                  : " overlaps " + prefix_text(taken) + " of " + named(other)));
    }
  }
}

/// A gateway's own packets must not be routed into it.
void check_loop(Section& row, const PeerConfig& it, const PeerConfig& target) {
  const auto address = parse_interface_address(target.address);
  if (!address) return;
  for (const gateway::Prefix& route : it.routes) {
    if (!is_overlapping(*address, route)) continue;
    row.complain("routes", named(it) + ": route " + prefix_text(route) + " holds the address " +
                               target.address + " of " + named(target) +
                               ", so what is sent to that gateway would come back here; take it "
                               "out, or set lan.routes = false and route yourself");
  }
}

void check_own_side(Section& row, const PeerConfig& it, const Config& config) {
  for (const gateway::Prefix& own : config.lan_addresses) {
    for (const gateway::Prefix& route : it.routes) {
      if (!is_overlapping(own, route)) continue;
      row.complain("routes", named(it) + ": route " + prefix_text(route) + " overlaps " +
                                 prefix_text(own) + " of lan.addresses, which lies on this side");
    }
  }
}

/// No route leads there: a group's frames go to all of its sites.
void check_no_group(Section& row, const PeerConfig& it) {
  for (const gateway::Prefix& route : it.routes) {
    const bool is_wide = route.bits < (route.is_v6 ? 8 : 4);
    if (is_wide || !gateway::is_group(route.address, route.is_v6)) continue;
    row.complain("routes", named(it) + ": route " + prefix_text(route) +
                               " is multicast, whose frames cross by a [[group]]");
  }
}

void check_rates(Section& file, const Config& config) {
  uint64_t sum = 0;
  for (const auto& peer : config.peers) sum += peer->rate.bps();
  const bool has_open =
      std::ranges::any_of(config.peers, [](const auto& peer) { return peer->rate == Rate(); });
  const uint64_t most = config.wan.rate.bps();
  if (most == 0 || sum < most || (sum == most && !has_open)) return;
  file.complain("peer", "the rates of all peers make " + about(Rate::from_bps(sum)) +
                            " and must be " + (has_open ? "below" : "at most") + " wan.rate " +
                            about(config.wan.rate) +
                            (has_open ? ", since a peer without a rate takes what is left" : ""));
}

}  // namespace

void check_peer(Section& row, const PeerConfig& it, const Config& config) {
  if (it.name == config.site.name) {
    row.complain("name", named(it) + " has this site's own name; names of sites must differ");
  }
  for (const auto& other : config.peers) {
    if (config.lan.routes) check_loop(row, it, *other);
    if (other.get() == &it) break;
    check_name(row, it, *other, config);
    check_routes(row, it, *other);
    if (config.lan.routes) check_loop(row, *other, it);
  }
  check_own_side(row, it, config);
  check_no_group(row, it);
  if (!config.wan.address.empty() &&
      is_v6(it) != (config.wan.address.find(':') != std::string::npos)) {
    row.complain("address", named(it) + ": " + it.address + " and wan.address " +
                                config.wan.address + " must be of one IP version");
  }
  if (config.wan.port == WanKind::Verbs && it.udp_port != roce_udp_port) {
    row.complain("udp_port", named(it) + ": udp_port is " + std::to_string(it.udp_port) +
                                 ", and wan.port \"verbs\" sends to 4791 only");
  }
  if (it.first_source() + config.wan.paths - 1 > UINT16_MAX) {
    const std::string key = source_key(it);
    row.complain(key, named(it) + ": " + key + " " + std::to_string(it.first_source()) +
                          " leaves no room for wan.paths " + std::to_string(config.wan.paths) +
                          ": the last port is 65535");
  }
  if (config.pair.rate != Rate() && it.rate > config.pair.rate) {
    row.complain("rate", named(it) + ": rate is " + about(it.rate) + " and pair.rate " +
                             about(config.pair.rate) + "; pair.rate must be the fastest");
  }
}

void check_device_mtus(Section& file, const Config& config) {
  const auto check = [&](const char* table, const std::string& device, const char* key,
                         uint32_t mtu) {
    const uint32_t most = slot_mtu_of(complete_device(device, mtu, 1));
    if (mtu <= most) return;
    const bool is_memif = device_driver(device) == "net_memif";
    file.complain(table, std::string(table) + ".device: " + device_name(device) + " has " +
                             (is_memif ? "bsize=" : "framesz=") +
                             std::to_string(slot_bytes_of(device)) + ", which carries packets of " +
                             std::to_string(most) + " bytes, and " + key + " is " +
                             std::to_string(mtu) + "; leave it out to have it chosen" +
                             (is_memif ? ", at both ends" : ""));
  };
  if (config.wan.port == WanKind::Dpdk) {
    check("wan", config.wan.device, "pair.mtu", config.pair.mtu);
  }
  if (config.lan.port == LanKind::Dpdk) {
    check("lan", config.lan.device, "lan.mtu", config.lan.mtu);
  }
}

/// A queue for each core is what sockets and TUN devices have.
static void check_shared_ports(Section& file, const Config& config) {
  const size_t shards = config.shards();
  if (shards > 1 && config.wan.port == WanKind::Verbs) {
    file.complain("site", "site.cores has " + std::to_string(shards) +
                              " cores, and wan.port \"verbs\" is turned by one");
  }
  if (shards > 1 && config.wan.is_impaired && config.wan.impairment.rate != Rate()) {
    file.complain("wan", "wan.impair.rate is of one line, and each of " + std::to_string(shards) +
                             " site.cores has one of its own; put causeway-wan between the sites");
  }
}

void check_cores(Section& file, const Config& config) {
  const size_t shards = config.shards(), links = config.pair.links;
  if (shards > links && shards <= limits::links_max) {
    file.complain("site", "site.cores has " + std::to_string(shards) + " cores and pair.links is " +
                              std::to_string(links) +
                              ": each core needs a link of its own; set pair.links = " +
                              std::to_string(shards) + " at all sites");
  }
  check_shared_ports(file, config);
  const size_t rows = config.places() * config.links_per_shard();
  if (config.places() <= limits::peers_max && rows > limits::peers_max) {
    file.complain("peer", std::to_string(config.places()) + " peers have " + std::to_string(rows) +
                              " links on one core; at most " + std::to_string(limits::peers_max) +
                              " are accepted: lower pair.links, or name more site.cores");
  }
  const size_t ports = source_ports(config);
  const auto check_ports = [&](const char* table, const std::string& key, size_t first) {
    if (first + ports - 1 <= UINT16_MAX || config.pair.links == 1) return;
    file.complain(table, key + " " + std::to_string(first) + " leaves no room for pair.links " +
                             std::to_string(config.pair.links) + ", which need " +
                             std::to_string(ports) + " ports from there");
  };
  check_ports("wan", "wan.udp_port", config.wan.udp_port);
  for (const auto& peer : config.peers) {
    check_ports("peer", named(*peer) + ": " + source_key(*peer), peer->first_source());
  }
}

void check_peers(Section& file, const Config& config) {
  if (config.peers.empty()) {
    return file.complain("", "peer is missing; one [[peer]] at least says where packets go");
  }
  if (config.places() > limits::peers_max) {
    file.complain("peer", std::to_string(config.places()) +
                              (config.site.spare_peers == 0 ? "" : " (with site.spare_peers)") +
                              " peers are too many; at most " + std::to_string(limits::peers_max) +
                              " are accepted");
  }
  if (config.site.spare_peers > 0 && config.wan.port != WanKind::Udp) {
    file.complain("site", "site.spare_peers is of wan.port \"udp\", and wan.port is \"" +
                              std::string(name_of(config.wan.port)) + "\"");
  }
  check_rates(file, config);
}

void check_class(Section& row, const ClassConfig& it, const Config& config) {
  for (const auto& other : config.classes) {
    if (other.get() == &it) return;
    if (other->name == it.name) {
      row.complain("name", "class \"" + it.name + "\" is there twice; names must differ");
    } else if (other->is_for_all) {
      row.complain("name", "class \"" + it.name + "\" would get nothing: class \"" + other->name +
                               "\" before it has no match and takes every packet");
    }
  }
}

void check_classes(Section& file, const Config& config) {
  const auto& classes = config.classes;
  if (!classes.back()->is_for_all) {
    file.complain("class", "class \"" + classes.back()->name +
                               "\" is the last and has a match; packets that match nothing need a "
                               "last class without one");
  }
  if (classes.size() > limits::qps_max) {
    file.complain("class", std::to_string(classes.size()) + " classes are too many; at most " +
                               std::to_string(limits::qps_max) + " are accepted");
  }
}

static bool fits(Config& config, Duration rtt_max) {
  config.pair.rtt_max = rtt_max;
  for (const auto& each : config.classes) {
    if (each->holds_by_default) each->hold = hold_of(*each, config);
  }
  return memory_of(config) <= config.site.memory;
}

/// The longest pair.rtt_max that site.memory has room for, about; zero: pair.rtt is too long.
static Duration fitting_rtt_max(Config& config) {
  const Duration asked = config.pair.rtt_max, rtt = config.pair.rtt;
  Duration most = fits(config, rtt) ? rtt : Duration();
  for (Duration above = asked; most != Duration() && above - most > rtt / 16;) {
    const Duration middle = most + (above - most) / 2;
    (fits(config, middle) ? most : above) = middle;
  }
  fits(config, asked);
  // As a person writes it.
  const Duration unit = most < Duration::from_ms(1) ? Duration::from_us(1) : Duration::from_ms(1);
  return std::max(unit * (most / unit), std::min(most, rtt));
}

void check_memory(Section& file, Config& config) {
  if (config.pair.rtt == Duration() || config.link_rate() == Rate() || config.peers.empty()) return;
  for (const auto& each : config.classes) {
    if (each->hold == Duration::max()) return;  // told already
    const auto stream = stream_of(*each, 0, config);
    if (!stream) return file.complain("class", stream.error().sentence);
  }
  const Bytes needed = memory_of(config);
  if (needed <= config.site.memory) return;
  const auto text = [](Bytes bytes) {
    return config::quantity_text(config::Quantity::Bytes,
                                 static_cast<double>((bytes.count() + (1 << 20) - 1) >> 20 << 20));
  };
  const auto count = [](size_t n, const char* one, const char* several) {
    return std::to_string(n) + (n == 1 ? one : several);
  };
  const Duration fitting = fitting_rtt_max(config);
  const bool is_shared = config.places() * config.links_per_shard() * config.classes.size() > 1;
  const Rate line = Rate::from_bps(config.link_rate().bps() * full_links(config));
  file.complain(
      "site",
      "site.memory is " + text(config.site.memory) + " and " + text(needed) + " are needed: for " +
          count(config.places(), " peer", " peers") + " and " +
          count(config.classes.size(), " class", " classes") +
          (config.shards() > 1 ? ", on each of " + count(config.shards(), " core", " cores") : "") +
          (is_shared ? " together, each way, three times what " : ", each way, twice what ") +
          about(line) + " carry in hold and two pair.rtt_max of " + about(config.pair.rtt_max) +
          "; raise site.memory, or lower " +
          (fitting == Duration() ? ""
                                 : "pair.rtt_max at all sites (" + about(fitting) + " fits), ") +
          "pair.rate or hold");
}

}  // namespace cw::site
