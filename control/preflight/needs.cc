#include <algorithm>

#include "control/gateway/plan.h"
#include "control/preflight/checks/checks.h"
#include "control/preflight/routes.h"
#include "dataplane/device/device_text.h"
#include "dataplane/wire/roce_inline.h"

namespace cw::preflight {
namespace {

Nic nic_at(const Machine& machine, const std::string& pci) {
  const auto interfaces = machine.names("sys/bus/pci/devices/" + pci + "/net");
  Nic nic;
  if (!interfaces.empty()) nic.interface = interfaces.front();
  nic.pci = pci;
  return nic;
}

Nic nic_of(const Machine& machine, const std::string& interface) {
  const std::string device = "sys/class/net/" + interface + "/device";
  const bool is_pci = machine.link(device + "/subsystem") == "pci";
  Nic nic;
  nic.interface = interface;
  if (is_pci) nic.pci = machine.link(device);
  return nic;
}

void add_xdp(const Machine& machine, const std::string& interface, uint32_t mtu, Needs& needs) {
  needs.drivers.push_back(af_xdp);
  Nic nic = nic_of(machine, interface);
  nic.is_dpdks = true;
  nic.driver = af_xdp;
  nic.mtu = mtu;
  needs.nics.push_back(nic);
}

void add_dpdk(const Machine& machine, const std::string& device, uint32_t mtu, Needs& needs) {
  const std::string driver = device_driver(device), interface = device_argument(device, "iface");
  const bool is_in_software = !is_pci_device(device);
  if (is_in_software) needs.drivers.push_back(driver);
  // The interface of a tap is made with it.
  if (is_in_software && (interface.empty() || driver == "net_tap")) return;
  Nic nic = is_in_software ? nic_of(machine, interface) : nic_at(machine, device_name(device));
  nic.is_dpdks = true;
  nic.driver = driver;
  nic.mtu = mtu;
  needs.nics.push_back(nic);
}

/// The interfaces that packets to the peers leave by.
void add_routed(const Machine& machine, const UdpPortOptions& wan, uint32_t mtu, Needs& needs) {
  for (const UdpPeerOptions& peer : wan.peers) {
    if (peer.address.empty()) continue;
    const std::string interface = interface_towards(machine, peer.address);
    const bool is_known =
        std::ranges::any_of(needs.nics, [&](const Nic& nic) { return nic.interface == interface; });
    if (interface.empty() || is_known) continue;
    needs.nics.push_back(nic_of(machine, interface));
    needs.nics.back().mtu = mtu;
  }
}

/// The interface of an RNIC is that of its first address.
void add_rnic(const Machine& machine, const std::string& device, uint32_t mtu, Needs& needs) {
  const std::string folder = "sys/class/infiniband/" + device + "/ports/1/gid_attrs/ndevs";
  for (const std::string& index : machine.names(folder)) {
    const std::string interface = machine.text(folder + "/" + index);
    if (interface.empty()) continue;
    needs.nics.push_back(nic_of(machine, interface));
    needs.nics.back().mtu = mtu;
    return;
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
  needs.over_udp = plan->wan_kind == site::WanKind::Udp;
  needs.wan_port = site::name_of(plan->wan_kind);
  needs.lan_port = site::name_of(plan->lan_kind);
  needs.over_tun = plan->lan_kind == site::LanKind::Tun;
  needs.over_dpdk = plan->wan_kind == site::WanKind::Dpdk || plan->lan_kind == site::LanKind::Dpdk;
  for (const auto& core : plan->cores) {
    if (core) needs.cores.push_back(*core);
  }
  needs.polls = plan->idle == IdlePolicy::Poll;
  needs.nice = plan->nice;
  needs.hugepage_bytes = uint64_t{plan->eal.memory_mib} << 20;
  needs.address = plan->wan.address;
  needs.udp_port = plan->wan.udp_port;
  needs.paths = plan->wan.paths;
  needs.links = plan->links;
  needs.socket_bytes = plan->wan.socket_buffer_bytes;
  needs.lan_device = plan->lan.device.name;
  needs.lan_queue_packets = plan->lan_queue_packets;
  const uint32_t mtu = mtu_of(plan->wan);
  if (needs.over_udp) add_routed(machine, plan->wan, mtu, needs);
  if (plan->wan_kind == site::WanKind::Dpdk) {
    add_dpdk(machine, plan->wan_over_frames.device, mtu, needs);
  }
  if (plan->wan_kind == site::WanKind::Xdp) {
    add_xdp(machine, plan->wan_over_frames.device, mtu, needs);
  }
  if (plan->wan_kind == site::WanKind::Verbs) {
    needs.rnic = plan->wan_by_rnic.device;
    needs.registered_bytes = plan->memory.count();
    add_rnic(machine, needs.rnic, mtu, needs);
  }
  const FrameLanOptions& lan = plan->lan_over_frames;
  if (plan->lan_kind == site::LanKind::Dpdk) add_dpdk(machine, lan.device, lan.mtu, needs);
  if (plan->lan_kind == site::LanKind::Xdp) add_xdp(machine, lan.device, lan.mtu, needs);
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
