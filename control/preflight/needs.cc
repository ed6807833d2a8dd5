#include <algorithm>

#include "control/preflight/checks.h"
#include "control/preflight/routes.h"
#include "dataplane/wire/roce_inline.h"

namespace cw::preflight {
namespace {

/// What stands behind "key=" in DPDK's device arguments.
std::string argument_of(const std::string& device, const std::string& key) {
  const size_t at = device.find("," + key + "=");
  if (at == std::string::npos) return {};
  const size_t from = at + key.size() + 2;
  return device.substr(from, device.find(',', from) - from);
}

Nic nic_at(const Machine& machine, const std::string& pci) {
  const auto interfaces = machine.names("sys/bus/pci/devices/" + pci + "/net");
  return {.interface = interfaces.empty() ? "" : interfaces.front(), .pci = pci};
}

Nic nic_of(const Machine& machine, const std::string& interface) {
  const std::string device = "sys/class/net/" + interface + "/device";
  const bool is_pci = machine.link(device + "/subsystem") == "pci";
  return {.interface = interface, .pci = is_pci ? machine.link(device) : ""};
}

void add_dpdk(const Machine& machine, const std::string& device, Needs& needs) {
  const std::string name = device.substr(0, device.find(','));
  if (name.starts_with("net_")) {
    needs.driver = name.substr(0, name.find_last_not_of("0123456789") + 1);
    const std::string interface = argument_of(device, "iface");
    if (!interface.empty()) needs.nics.push_back(nic_of(machine, interface));
    return;
  }
  const bool has_domain = std::ranges::count(name, ':') == 2;
  needs.nics.push_back(nic_at(machine, has_domain ? name : "0000:" + name));
}

/// The interfaces that packets to the peers leave by.
void add_routed(const Machine& machine, const UdpPortOptions& wan, Needs& needs) {
  for (const UdpPeerOptions& peer : wan.peers) {
    const std::string interface = interface_towards(machine, peer.address);
    const bool is_known =
        std::ranges::any_of(needs.nics, [&](const Nic& nic) { return nic.interface == interface; });
    if (!interface.empty() && !is_known) needs.nics.push_back(nic_of(machine, interface));
  }
}

/// Every interface that has hardware behind it.
void add_all(const Machine& machine, Needs& needs) {
  for (const std::string& interface : machine.names("sys/class/net")) {
    if (machine.has("sys/class/net/" + interface + "/device")) {
      needs.nics.push_back(nic_of(machine, interface));
    }
  }
}

uint32_t mtu_of(const UdpPortOptions& wan) {
  constexpr uint32_t udp_bytes = 8, icrc_bytes = 4;
  const bool is_v6 = !wan.peers.empty() && wan.peers.front().address.find(':') != std::string::npos;
  return wan.payload_bytes_max + static_cast<uint32_t>(slot_write_header_bytes) + udp_bytes +
         icrc_bytes + (is_v6 ? 40 : 20);
}

}  // namespace

Needs needs_of(const Machine& machine, const site::Plan* plan) {
  Needs needs;
  if (plan == nullptr) {
    add_all(machine, needs);
    return needs;
  }
  needs.has_file = true;
  needs.over_dpdk = plan->wan_kind == site::WanKind::Dpdk;
  needs.over_udp = !needs.over_dpdk;
  needs.core = plan->core;
  needs.polls = plan->idle == IdlePolicy::Poll;
  needs.nice = plan->nice;
  needs.hugepage_bytes = uint64_t{plan->eal.memory_mib} << 20;
  needs.mtu = mtu_of(plan->wan);
  needs.address = plan->wan.address;
  needs.udp_port = plan->wan.udp_port;
  needs.paths = plan->wan.paths;
  needs.socket_bytes = plan->wan.socket_buffer_bytes;
  needs.lan_device = plan->lan.device.name;
  needs.lan_queue_packets = plan->lan_queue_packets;
  if (needs.over_dpdk) add_dpdk(machine, plan->wan_over_dpdk.device, needs);
  if (needs.over_udp) add_routed(machine, plan->wan, needs);
  return needs;
}

bool has_right(const Machine& machine, Right right) {
  for (const std::string& line : machine.lines("proc/self/status")) {
    if (!line.starts_with("CapEff:")) continue;
    return std::strtoull(line.c_str() + 7, nullptr, 16) >> static_cast<unsigned>(right) & 1;
  }
  return false;
}

std::string driver_of(const Machine& machine, const Nic& nic) {
  if (!nic.pci.empty()) return machine.link("sys/bus/pci/devices/" + nic.pci + "/driver");
  return machine.link("sys/class/net/" + nic.interface + "/device/driver");
}

bool is_mlx5(const Machine& machine, const Nic& nic) {
  return driver_of(machine, nic) == "mlx5_core";
}

std::optional<uint32_t> numa_node_of(const Machine& machine, const Nic& nic) {
  const std::string folder = nic.pci.empty() ? "sys/class/net/" + nic.interface + "/device"
                                             : "sys/bus/pci/devices/" + nic.pci;
  const auto node = machine.number(folder + "/numa_node");
  if (!node || *node < 0) return std::nullopt;
  return static_cast<uint32_t>(*node);
}

}  // namespace cw::preflight
