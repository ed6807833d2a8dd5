// The keys of a gateway's file but those of [site] and of classes.
#include <algorithm>
#include <filesystem>
#include <string_view>

#include "control/config/impairment_keys.h"
#include "control/config/quantity.h"
#include "control/gateway/keys/config.h"
#include "control/gateway/keys/prefix.h"
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
          "without one are handed theirs by others), and one of a memif.")
      .range(0, 64);
  section.key("descriptors", port.descriptors, "Of port dpdk, of each queue.").range(64, 8192);
}

/// What is wrong with the text itself; what the machine lacks for it, the port says at its start.
void check_device(Section& section, const std::string& table, const std::string& device) {
  const std::string mistake = mistake_in_device(device);
  if (!mistake.empty()) section.complain("device", table + ".device: " + mistake);
}

std::string device_missing(const std::string& table) {
  return table + ".port is \"dpdk\" and " + table +
         ".device is missing; such as \"0000:3b:00.0\" or \"net_memif0,role=client\"";
}

// ---- [lan]

void check_lan_port(Section& section, const LanConfig& lan) {
  if (lan.port == LanKind::Dpdk) {
    if (lan.device.empty() || lan.device == LanConfig::tun_device) {
      section.complain("port", device_missing("lan"));
    } else {
      check_device(section, "lan", lan.device);
    }
    if (lan.addresses.empty()) {
      section.complain("port",
                       "lan.port is \"dpdk\" and lan.addresses is missing: hosts need an address "
                       "to send their packets to");
    } else if (lan.addresses.size() > limits::lan_addresses_max) {
      section.complain("addresses", std::to_string(lan.addresses.size()) +
                                        " lan.addresses are too many for lan.port \"dpdk\"; at "
                                        "most " +
                                        std::to_string(limits::lan_addresses_max) +
                                        " are accepted");
    }
    return;
  }
  if (lan.device.empty() || lan.device.size() > 15 ||
      lan.device.find_first_of(" /%") != std::string::npos) {
    section.complain("device", "lan.device \"" + lan.device +
                                   "\" is no name for an interface: 1 to 15 characters without "
                                   "space, / and %");
  }
  if (lan.vlan != 0) {
    section.complain("vlan", "lan.vlan is of lan.port \"dpdk\", and lan.port is \"tun\"");
  }
}

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
      "port", lan.port, {"tun", "dpdk"},
      "How packets of the hosts come in: by the kernel's routing, or a NIC's own queues.");
  section.key("device", lan.device,
              "The TUN device: made, or taken when it exists; of port dpdk, as DPDK writes it.");
  declare_dpdk(section, lan.dpdk);
  section.key("vlan", lan.vlan, "Of port dpdk: the tag of the hosts' frames; 0: none.")
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

void check_icrc(Section& section, const WanConfig& wan) {
  if (!wan.icrc) return;
  if (wan.port != WanKind::Udp && *wan.icrc == IcrcMode::Pseudo) {
    section.complain("icrc",
                     "wan.icrc \"pseudo\" is of wan.port \"udp\", and wan.port is \"" +
                         std::string(name_of(wan.port)) +
                         "\", whose ICRCs are exact; set wan.icrc = \"exact\" at sites with "
                         "sockets");
  }
  const bool has_address = !wan.address.empty() && wan.address != "0.0.0.0" && wan.address != "::";
  if (wan.port == WanKind::Udp && *wan.icrc == IcrcMode::Exact && !has_address) {
    section.complain("icrc",
                     "wan.icrc is \"exact\" and wan.address is missing: an exact ICRC covers the "
                     "address that packets leave from");
  }
}

/// Of port verbs.
void check_rnic(Section& section, const WanConfig& wan) {
  const auto complain = [&](const char* key, const std::string& what) {
    section.complain(key, "wan.port is \"verbs\" and " + what);
  };
  if (wan.device.empty()) {
    complain("port", "wan.device is missing; such as \"mlx5_0\" (rdma link show)");
  }
  if (wan.address.empty()) {
    complain("port", "wan.address is missing: an RNIC is found by an address of its interface");
  }
  if (wan.udp_port != roce_udp_port) {
    complain("udp_port", "wan.udp_port is " + std::to_string(wan.udp_port) +
                             ": an RNIC hears no port but 4791; leave it out");
  }
  constexpr int ports = limits::links_max * limits::paths_max;
  if (wan.source_port + ports - 1 > UINT16_MAX) {
    complain("source_port", "wan.source_port is " + std::to_string(wan.source_port) +
                                ": it must leave room for " + std::to_string(ports) +
                                " ports; the last is 65535");
  }
  if (wan.is_impaired) {
    complain("impair", "wan.impair is for ports that move bytes: an RNIC's packets are not seen");
  }
}

void check_wan_port(Section& section, const WanConfig& wan) {
  check_icrc(section, wan);
  if (wan.port == WanKind::Verbs) return check_rnic(section, wan);
  if (wan.port == WanKind::Udp) {
    if (wan.device.empty()) return;
    return section.complain(
        "device", "wan.device is of wan.port \"dpdk\" or \"verbs\", and wan.port is \"udp\"");
  }
  if (wan.device.empty()) {
    section.complain("port", device_missing("wan"));
  } else {
    check_device(section, "wan", wan.device);
  }
  if (wan.address.empty()) {
    section.complain("port",
                     "wan.port is \"dpdk\" and wan.address is missing: a NIC's own queues "
                     "have no address but this");
  }
}

/// What stands before a device's arguments is its name, and DPDK has one of each.
void check_devices(Section& section, const Config& config) {
  if (config.lan.port != LanKind::Dpdk || config.wan.port != WanKind::Dpdk) return;
  const std::string name = device_name(config.wan.device);
  const std::string interface = device_argument(config.wan.device, "iface");
  const bool is_xdp = device_driver(config.wan.device) == "net_af_xdp" ||
                      device_driver(config.lan.device) == "net_af_xdp";
  if (!name.empty() && name == device_name(config.lan.device)) {
    section.complain(
        "device", "wan.device and lan.device are both called " + name +
                      (is_pci_device(name) ? "; one NIC is one device, and each side needs its own"
                                           : "; two devices of DPDK need two names, such as "
                                             "net_af_packet0 and net_af_packet1"));
  } else if (is_xdp && interface == device_argument(config.lan.device, "iface")) {
    section.complain("device", "wan.device and lan.device both take " + interface +
                                   ", of which net_af_xdp takes every packet; give each side an "
                                   "interface of its own");
  }
}

void declare_wan_port(Section& section, WanConfig& wan) {
  section.choice("port", wan.port, {"udp", "dpdk", "verbs"},
                 "How packets reach the other sites: sockets, a NIC's own queues, or an RNIC.");
  section.key("device", wan.device,
              "Of port dpdk, as DPDK writes it, such as \"0000:3b:00.0\" or "
              "\"net_memif0,role=client\"; of port verbs, such as \"mlx5_0\".");
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
  section.key("key_file", pair.key_file, "The secret: 32 bytes or more, the same at all sites.")
      .required()
      .kind(KeyKind::Keys);
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
  section.then([config](Section& here) {
    if (config->pair.key_file.empty()) return;
    if (config->known.key != nullptr) return void(*config->key = *config->known.key);
    const auto key = read_key_file(config->path_of(config->pair.key_file));
    if (!key) return here.complain("key_file", "pair.key_file: " + key.error().sentence);
    *config->key = *key;
    if (!key->warning.empty()) config->warnings.push_back("pair.key_file: " + key->warning);
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
  if (wan.port != WanKind::Dpdk) {
    row.complain("next_hop",
                 "peer.next_hop is for wan.port \"dpdk\"; the kernel routes what goes by "
                 "sockets and RNICs");
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

uint32_t Config::payload_bytes() const {
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
    check_device_mtus(here, *config);
    check_cores(here, *config);
    check_offload(here, *config);
    check_peers(here, *config);
    check_classes(here, *config);
    check_memory(here, *config);
  });
}

}  // namespace cw::site
