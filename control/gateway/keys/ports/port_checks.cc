// What is asked of the device, the addresses and the other keys that a kind of port takes.
#include "control/gateway/keys/ports/port_checks.h"

#include <string>

#include "control/gateway/plan.h"
#include "dataplane/base/limits.h"
#include "dataplane/device/device_text.h"

namespace cw::site {

using config::Section;

namespace {

void check_interface_name(Section& section, const std::string& table, const std::string& device) {
  const bool is_name =
      !device.empty() && device.size() <= 15 && device.find_first_of(" /%") == std::string::npos;
  if (is_name) return;
  section.complain("device", table + ".device \"" + device +
                                 "\" is no name for an interface: 1 to 15 characters without "
                                 "space, / and %");
}

/// Of ports over frames.
void check_device(Section& section, const std::string& table, const std::string& device,
                  bool is_xdp) {
  if (device.empty()) {
    return section.complain(
        "port", table + ".port is \"" + (is_xdp ? "xdp" : "dpdk") + "\" and " + table +
                    ".device is missing; such as " +
                    (is_xdp ? "\"eth0\"" : "\"0000:3b:00.0\" or \"net_memif0,role=client\""));
  }
  if (is_xdp) return check_interface_name(section, table, device);
  const std::string mistake = mistake_in_device(device);
  if (!mistake.empty()) section.complain("device", table + ".device: " + mistake);
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

}  // namespace

// ---- [lan]

void check_lan_port(Section& section, const LanConfig& lan) {
  if (!is_over_frames(lan.port)) {
    check_interface_name(section, "lan", lan.device);
    if (lan.vlan != 0) {
      section.complain("vlan",
                       "lan.vlan is of lan.port \"dpdk\" or \"xdp\", and lan.port is \"tun\"");
    }
    return;
  }
  const bool has_device = lan.device != LanConfig::tun_device;
  check_device(section, "lan", has_device ? lan.device : "", lan.port == LanKind::Xdp);
  const std::string kind(name_of(lan.port));
  if (lan.addresses.empty()) {
    section.complain("port", "lan.port is \"" + kind +
                                 "\" and lan.addresses is missing: hosts need an address to send "
                                 "their packets to");
  } else if (lan.addresses.size() > limits::lan_addresses_max) {
    section.complain("addresses", std::to_string(lan.addresses.size()) +
                                      " lan.addresses are too many for lan.port \"" + kind +
                                      "\"; at most " + std::to_string(limits::lan_addresses_max) +
                                      " are accepted");
  }
}

// ---- [wan]

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

void check_wan_port(Section& section, const WanConfig& wan) {
  check_icrc(section, wan);
  if (wan.port == WanKind::Verbs) return check_rnic(section, wan);
  if (wan.port == WanKind::Udp) {
    if (wan.device.empty()) return;
    return section.complain(
        "device",
        "wan.device is of wan.port \"dpdk\", \"xdp\" or \"verbs\", and wan.port is \"udp\"");
  }
  check_device(section, "wan", wan.device, wan.port == WanKind::Xdp);
  if (wan.address.empty()) {
    section.complain("port", "wan.port is \"" + std::string(name_of(wan.port)) +
                                 "\" and wan.address is missing: queues of our own have no "
                                 "address but this");
  }
}

void check_devices(Section& section, const Config& config) {
  if (config.lan.port == LanKind::Xdp && config.wan.port == WanKind::Xdp &&
      config.lan.device == config.wan.device) {
    section.complain("device", "wan.device and lan.device are both " + config.wan.device +
                                   ", and one program of ours is on an interface; give each side "
                                   "one of its own");
  }
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

}  // namespace cw::site
