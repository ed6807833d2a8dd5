// The checks, and what each is told of the gateway that is to run.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "control/preflight/preflight.h"

namespace cw::preflight {

/// A NIC, by either or both of its names, and what is wanted of it.
inline constexpr const char* af_xdp = "af_xdp";

struct Nic {
  std::string interface, pci;
  bool is_dpdks = false;  ///< or AF_XDP's; else packets reach it by the kernel
  std::string driver;     ///< of DPDK, or af_xdp, which shares the interface; empty: DPDK's own
  uint32_t mtu = 1500;    ///< of the longest IP packet
  std::string text() const { return interface.empty() ? pci : interface; }
};

/// What the gateway needs; without a file, what one usually does.
struct Needs {
  bool has_file = false;
  bool over_udp = true, over_tun = true;           ///< the ports; without a file, perhaps any
  bool over_dpdk = true;                           ///< either of them, or both
  std::string wan_port = "udp", lan_port = "tun";  ///< the kinds of them
  std::string rnic;                                ///< the device of a WAN over verbs; else empty
  uint64_t registered_bytes = 0;                   ///< with such a device, at most
  bool by_rnic() const { return !rnic.empty(); }
  std::vector<std::string> drivers;  ///< of DPDK's devices in software
  std::vector<Nic> nics;             ///< the WAN's first
  std::vector<uint32_t> cores;
  bool polls = false;
  int nice = -10;
  uint64_t hugepage_bytes = uint64_t{256} << 20;
  std::string address;  ///< ours; empty: any
  uint16_t udp_port = 4791, paths = 1, links = 1;
  uint64_t socket_bytes = uint64_t{16} << 20;
  std::string lan_device = "causeway0";
  uint32_t lan_queue_packets = 1000;
};

Needs needs_of(const Machine& machine, const site::Plan* plan);

enum class Right : uint8_t {
  NetAdmin = 12,
  NetRaw = 13,
  IpcLock = 14,
  SysAdmin = 21,
  SysNice = 23,
  Bpf = 39
};
/// Whether this process has it.
bool has_right(const Machine& machine, Right right);
/// The kernel's driver of a NIC, "vfio-pci"; empty: none, or no PCI device.
std::string driver_of(const Machine& machine, const Nic& nic);
bool is_mlx5(const Machine& machine, const Nic& nic);
/// The memory that a NIC is near to; nothing: the machine does not say, or has only one.
std::optional<uint32_t> numa_node_of(const Machine& machine, const Nic& nic);

/// Appends what it finds: one Finding, or one per NIC.
using Check = void (*)(const Machine&, const Needs&, std::vector<Finding>&);

std::span<const Check> memory_checks();  ///< hugepages, memlock
std::span<const Check> core_checks();    ///< cores, governor, numa
std::span<const Check> nic_checks();     ///< nic, mtu, roce
std::span<const Check> xdp_checks();     ///< xdp
std::span<const Check> rnic_checks();    ///< rnic, rdma_cm
std::span<const Check> kernel_checks();  ///< tun, rights, udp_port, buffers, lan_queue

}  // namespace cw::preflight
