// The keys of a gateway's file but those of [site] and of classes.
#include <algorithm>
#include <filesystem>
#include <string_view>

#include "control/config/impairment_keys.h"
#include "control/config/quantity.h"
#include "control/gateway/keys/config.h"
#include "control/gateway/keys/ports/port_checks.h"
#include "control/gateway/keys/prefix.h"
#include "control/gateway/keys/seal/seal_keys.h"
#include "dataplane/base/assert.h"
#include "dataplane/device/device_text.h"
#include "dataplane/neighbour/address.h"
#include "dataplane/port/udp/udp_address.h"
#include "dataplane/sdr/options.h"
#include "dataplane/wire/roce_inline.h"

namespace cw::site {

using config::KeyKind;
using config::Section;

namespace {

constexpr uint32_t mtu_max = limits::frame_bytes_max;
constexpr uint32_t mtu_v6_min = 1280;

// ---- ports over DPDK

void declare_dpdk(Section& section, DpdkConfig& port) {
  section
      .key(
          "queues", port.queues,
          "Of port dpdk, to receive by. 0: one for each core, as far as the device has them (cores "
          "without one are handed theirs by others), and one of a memif. Of port xdp: the "
          "interface "
          "has so many while the gateway runs; 0: those it has.")
      .range(0, 64);
  section.key("descriptors", port.descriptors, "Of ports dpdk and xdp, of each queue.")
      .range(64, 8192);
}

/// What is wrong with the text itself; what the machine lacks for it, the port says at its start.
// ---- [lan]

void check_lan(Section& section, Config& config) {
  const LanConfig& lan = config.lan;
  check_lan_port(section, lan);
  for (const std::string& text : lan.addresses) {
    const auto address = parse_interface_address(text);
    if (!address) {
      section.complain("addresses", "lan.addresses: " + address.error().sentence);
      continue;
    }
    config.lan_addresses.push_back(*address);
    if (address->is_v6 && lan.mtu < mtu_v6_min) {
      section.complain("mtu", "lan.mtu is " + std::to_string(lan.mtu) + " and lan.addresses has " +
                                  text + "; IPv6 needs an MTU of 1280 at least");
    }
  }
}

void declare_lan(Section& section, const ConfigPtr& config) {
  LanConfig& lan = config->lan;
  section.all_are(KeyKind::Restart);
  section.choice(
      "port", lan.port, {"tun", "dpdk", "xdp"},
      "How packets of the hosts come in: by the kernel's routing, a NIC's own queues, or those of "
      "an interface that the kernel keeps.");
  section.key(
      "device", lan.device,
      "The TUN device: made, or taken when it exists; of port dpdk, as DPDK writes it; of port "
      "xdp, the interface.");
  declare_dpdk(section, lan.dpdk);
  section.key("vlan", lan.vlan, "Of ports dpdk and xdp: the tag of the hosts' frames; 0: none.")
      .range(0, 4094);
  section.key("mtu", lan.mtu, "The largest IP packet of a host.").range(68, mtu_max);
  section.key("addresses", lan.addresses,
              "Ours, such as \"10.1.0.1/24\"; given to the TUN device.");
  section.key(
      "routes", lan.routes,
      "Whether the kernel is told to route the peers' prefixes here; of port dpdk: to keep its "
      "hands off what hosts send.");
  section.key("offload", lan.offload, "Let the kernel hand over many segments at once.");
  section.key("queue", lan.queue, "What waits for the hosts is dropped when it is this old.")
      .range("1 ms", "1 s")
      .kind(KeyKind::Live);
  section
      .key("release_rate", lan.release_rate,
           "How fast packets go to the hosts at most; none: 1.25 times what the links carry.")
      .or_none()
      .kind(KeyKind::Live);
  section.then([config](Section& here) { check_lan(here, *config); });
  declare_lan_prefixes(section, config);
}

// ---- [wan]

void check_address(Section& section, const std::string& text, const std::string& key) {
  const auto address = parse_udp_address(text, 0, key.c_str());
  if (!address) section.complain("address", address.error().sentence);
}

/// By the enumerators of IcrcMode.
void declare_icrc(Section& section, WanConfig& wan) {
  section.choice(
      "icrc", static_cast<size_t>(IcrcMode::Pseudo), {"exact", "pseudo"},
      "Of port udp: \"exact\" towards sites whose port is another, and their like; alike "
      "at both ends. The other ports' is exact.",
      [&wan](size_t choice) { wan.icrc = static_cast<IcrcMode>(choice); });
}

void declare_wan_port(Section& section, WanConfig& wan) {
  section.choice(
      "port", wan.port, {"udp", "dpdk", "verbs", "xdp"},
      "How packets reach the other sites: sockets, a NIC's own queues, an RNIC, or queues of "
      "an interface that the kernel keeps.");
  section.key("device", wan.device,
              "Of port dpdk, as DPDK writes it, such as \"0000:3b:00.0\" or "
              "\"net_memif0,role=client\"; of port xdp, such as \"eth0\"; of port verbs, such as "
              "\"mlx5_0\".");
  declare_dpdk(section, wan.dpdk);
  section.key("address", wan.address, "Ours, where this machine has several; empty: any.");
  section.key("udp_port", wan.udp_port, "The first one; path p sends from udp_port + p.")
      .range(1, 65535);
  section
      .key("source_port", wan.source_port,
           "Of port verbs, instead: path p sends from source_port + p.")
      .range(rnic_source_port_min, 65535);
  declare_icrc(section, wan);
}

void declare_wan(Section& section, const ConfigPtr& config) {
  WanConfig& wan = config->wan;
  section.all_are(KeyKind::Restart);
  declare_wan_port(section, wan);
  section.key("paths", wan.paths, "UDP ports to send from, so that routers spread packets.")
      .range(1, limits::paths_max)
      .kind(KeyKind::Relink);
  section
      .add({"path_weights", config::Type::Integer,
            [&wan](const config::Value& value) {
              wan.path_weights.push_back(static_cast<uint8_t>(value.number));
            },
            "",
            "How data is spread over the paths, a number for each, such as [3, 1]; none: evenly."})
      .range(1, sdr::path_weight_max)
      .list([&wan] { wan.path_weights.clear(); })
      .kind(KeyKind::Relink);
  section.key("rate", wan.rate, "What this site sends at most, all headers included.")
      .required()
      .kind(KeyKind::Live);
  section.key("adapt", wan.adapt, "Sends less while the link shows that it carries less.")
      .kind(KeyKind::Live);
  section
      .add({"overhead_limit", config::Type::Ratio,
            [&wan](const config::Value& value) {
              wan.overhead_limit.reset();
              if (!value.is_none) wan.overhead_limit = value.number;
            },
            "none",
            "Resends and repair at most, as a share of the data; none: 25 %, and what the classes' "
            "codes take at most."})
      .range(0, 1)
      .or_none()
      .kind(KeyKind::Live);
  Section& impair = section.table(
      "impair", "For rehearsals: what happens to all that leaves here. Each site says its own.");
  impair.all_are(KeyKind::Live);
  impair.key("seed", wan.seed, "Decides what chance decides.").kind(KeyKind::Restart);
  config::declare_impairment(impair, wan.impairment);
  impair.then([&wan](Section& here) { wan.is_impaired = here.is_written(); });
  section.then([config](Section& here) {
    const WanConfig& it = config->wan;
    if (!it.address.empty()) check_address(here, it.address, "wan.address");
    check_wan_port(here, it);
    check_devices(here, *config);
    const bool are_numbers = !it.path_weights.empty() && !here.is_wrong("path_weights");
    if (are_numbers && it.path_weights.size() != it.paths) {
      here.complain("path_weights", "wan.path_weights has " +
                                        std::to_string(it.path_weights.size()) +
                                        " numbers and wan.paths is " + std::to_string(it.paths) +
                                        "; write one for each path, or leave it out");
    }
    if (it.udp_port + it.paths - 1 > UINT16_MAX) {
      here.complain("paths", "wan.udp_port " + std::to_string(it.udp_port) +
                                 " leaves no room for wan.paths " + std::to_string(it.paths) +
                                 ": the last port is 65535");
    }
  });
}

// ---- [pair]

// A route around another ocean; a queue that stands in front of a line.
constexpr int64_t rtt_max_factor = 4;

void declare_pair(Section& section, const ConfigPtr& config) {
  PairConfig& pair = config->pair;
  section.all_are(KeyKind::Relink);
  declare_sealing(section, config);
  section.key("rtt", pair.rtt, "The longest round trip between sites, as ping says it.")
      .range("10 us", "2 s")
      .required();
  section
      .key("rtt_max", pair.rtt_max,
           "The longest that there is memory for, should routes grow; none: four times rtt.")
      .range("10 us", "8 s")
      .or_none();
  section.key("mtu", pair.mtu, "The largest IP packet that the way between sites carries.")
      .range(576, mtu_max);
  section.key("rate", pair.rate, "The fastest that one site sends to another; none: wan.rate.")
      .or_none();
  section
      .key("links", pair.links,
           "Links of each two sites, dealt out to the cores of either; they share the rate.")
      .range(1, limits::links_max);
  section.then([&pair](Section& here) {
    if (pair.rtt_max == Duration::max()) pair.rtt_max = pair.rtt * rtt_max_factor;
    if (pair.rtt_max >= pair.rtt) return;
    here.complain("rtt_max", "pair.rtt_max is " + about(pair.rtt_max) + " and pair.rtt " +
                                 about(pair.rtt) + "; rtt_max must be at least as long");
    pair.rtt_max = pair.rtt;
  });
}

// ---- [[peer]]

void read_routes(Section& row, PeerConfig& peer, const Config& config) {
  for (const std::string& text : peer.route_texts) {
    const auto prefix = parse_prefix(text);
    if (!prefix) {
      row.complain("routes", "peer.routes: " + prefix.error().sentence);
      continue;
    }
    peer.routes.push_back(*prefix);
    if (prefix->is_v6 && config.lan.mtu < mtu_v6_min) {
      row.complain("routes", "peer.routes has " + text + " and lan.mtu is " +
                                 std::to_string(config.lan.mtu) +
                                 "; IPv6 needs an MTU of 1280 at least");
    }
  }
}

void check_next_hop(Section& row, const PeerConfig& peer, const WanConfig& wan) {
  if (peer.next_hop.empty()) return;
  const bool is_mac = looks_like_mac(peer.next_hop);
  const auto mac = is_mac ? parse_mac(peer.next_hop, "peer.next_hop") : MacAddress{};
  const auto router = is_mac ? HostAddress{} : parse_host_address(peer.next_hop, "peer.next_hop");
  if (!mac) row.complain("next_hop", mac.error().sentence);
  if (!router) row.complain("next_hop", router.error().sentence);
  if (!is_over_frames(wan.port)) {
    row.complain("next_hop",
                 "peer.next_hop is for wan.port \"dpdk\" and \"xdp\"; the kernel routes what goes "
                 "by sockets and RNICs");
  }
}

void declare_peer(Section& row, PeerConfig& peer, const ConfigPtr& config) {
  row.all_are(KeyKind::Live);
  row.key("name", peer.name, "What it calls itself, its site.name; else no traffic flows.")
      .required();
  row.key("address", peer.address, "Its IP address.").required();
  row.key("udp_port", peer.udp_port, "Its wan.udp_port.").range(1, 65535);
  row.key("source_port", peer.source_port,
          "The first port that its paths send from, where that is another: of an RNIC 49152 or "
          "above. 0: udp_port.")
      .range(0, 65535);
  row.key("next_hop", peer.next_hop,
          "Over DPDK: the MAC, or the router's IP, that packets go to; empty: found out.")
      .kind(KeyKind::Restart);
  row.key("routes", peer.route_texts, "What lies behind it, such as \"10.2.0.0/16\".")
      .required()
      .kind(KeyKind::Live);
  row.key("prefer", peer.prefer,
          "Of peers with a route alike the one that is up, does not drain and has the highest gets "
          "its packets.")
      .range(0, UINT16_MAX);
  row.key("rate", peer.rate, "What it is sent at most; none: an equal share of wan.rate.")
      .or_none()
      .kind(KeyKind::Live);
  declare_peer_keys(row, peer, config);
  row.then([config, &peer](Section& here) {
    if (!here.is_wrong("name") && (peer.name.empty() || peer.name.size() > site_name_bytes_max)) {
      here.complain("name", "peer.name must have 1 to 63 characters, as that site's site.name");
    }
    if (!peer.address.empty()) check_address(here, peer.address, "peer.address");
    check_next_hop(here, peer, config->wan);
    read_routes(here, peer, *config);
    check_peer(here, peer, *config);
  });
}

}  // namespace

const cw_policy_ops* Config::policy_called(std::string_view name) const {
  const auto found = std::ranges::find(policies, name, &cw_policy_ops::name);
  CW_ASSERT(found != policies.end());
  return *found;
}

bool Config::is_wan_v6() const {
  return !peers.empty() && peers.front()->address.find(':') != std::string::npos;
}

uint32_t Config::packet_payload_bytes() const {
  constexpr uint32_t udp_bytes = 8, icrc_bytes = 4;
  const uint32_t ip_bytes = is_wan_v6() ? 40 : 20;
  const auto around =
      ip_bytes + udp_bytes + icrc_bytes + static_cast<uint32_t>(slot_write_header_bytes);
  return std::min<uint32_t>((pair.mtu - around) / 4 * 4, limits::payload_bytes_max);
}

double Config::overhead_limit() const {
  constexpr double of_resends = 0.25;
  double of_codes = 0;
  for (const auto& it : classes) {
    for (const ClassPolicy& each : it->policies) {
      const double data = each.needs.rows * static_cast<double>(each.needs.k);
      if (data > 0) of_codes = std::max(of_codes, each.needs.m_cap / data);
    }
  }
  return wan.overhead_limit.value_or(std::min(of_resends + of_codes, 1.0));
}

std::string Config::path_of(const std::string& file) const {
  return (std::filesystem::path(folder) / file).string();
}

void declare(Section& file, const ConfigPtr& config) {
  declare_site(file.table("site",
                          "This machine. [site], [lan] and [wan] are free: each site its "
                          "own."),
               config);
  declare_lan(file.table("lan", "Towards the hosts."), config);
  declare_wan(file.table("wan", "Towards the other sites."), config);
  declare_offload(file.table("offload",
                             "Who turns packets that the WAN's device has placed into bits. Ports "
                             "that move bytes have nothing to offload: there the turn copies."),
                  config);
  declare_api(file.table("api", "Where programs, such as causewayctl, ask and order."), config);
  declare_pair(file.table("pair",
                          "What all sites must have alike; so must every [[class]] with its "
                          "name, order, hold and room for its policies' blocks."),
               config);
  file.then([config](Section& here) {
    here.rows("peer", "A site that this one talks to.", [config](Section& row, size_t) {
      declare_peer(row, *config->peers.emplace_back(std::make_unique<PeerConfig>()), config);
    });
    here.rows("class",
              "Which packets, and what is done for them; the first that matches. Without "
              "any: one for all.",
              [config](Section& row, size_t) {
                declare_class(row, *config->classes.emplace_back(std::make_unique<ClassConfig>()),
                              config);
              });
  });
  file.then([config](Section& here) {
    if (config->classes.empty()) {
      config->classes.push_back(class_for_all());
      settle_class(here, *config->classes.front(), *config);
    }
    declare_groups(here, config);
    check_sealing(here, config);
    check_device_mtus(here, *config);
    check_cores(here, *config);
    check_offload(here, *config);
    check_peers(here, *config);
    check_classes(here, *config);
    check_memory(here, *config);
  });
}

}  // namespace cw::site
