// The NIC: whose it is, how long its packets may be, and whether it keeps RoCE for itself.
#include <algorithm>
#include <string>

#include "control/preflight/checks/checks.h"
#include "dataplane/base/limits.h"
#include "dataplane/wire/roce.h"

namespace cw::preflight {
namespace {

/// Drivers that leave the whole device to a program.
bool gives_all(const std::string& driver) {
  return driver == "vfio-pci" || driver == "uio_pci_generic" || driver == "igb_uio";
}

std::string bind_command(const Machine& machine, const Nic& nic) {
  const std::string bind = "dpdk-devbind.py --bind=vfio-pci " + nic.pci + "`";
  return machine.has("sys/module/vfio_pci") ? "`" + bind : "`modprobe vfio-pci && " + bind;
}

Finding mlx5_finding(const Machine& machine, const Needs& needs, const Nic& nic) {
  const bool has_verbs =
      machine.has_library("libmlx5.so.1") && machine.has_library("libibverbs.so.1");
  if (has_verbs) {
    return {"nic", Status::Ok, nic.text() + " is shared by DPDK and its driver mlx5_core", ""};
  }
  return {"nic", needs.has_file ? Status::Problem : Status::Note,
          nic.text() + " is driven by mlx5_core, which DPDK reaches by libraries that are not here",
          "`apt-get install ibverbs-providers libibverbs1`"};
}

Finding pci_finding(const Machine& machine, const Needs& needs, const Nic& nic) {
  const std::string driver = driver_of(machine, nic);
  if (!machine.has("sys/bus/pci/devices/" + nic.pci)) {
    return {"nic", Status::Problem, "there is no PCI device " + nic.pci,
            "`dpdk-devbind.py --status-dev net` lists those there are"};
  }
  if (is_mlx5(machine, nic)) return mlx5_finding(machine, needs, nic);
  const bool lacks_iommu = machine.names("sys/kernel/iommu_groups").empty();
  if (driver == "vfio-pci" && lacks_iommu &&
      machine.text("sys/module/vfio/parameters/enable_unsafe_noiommu_mode") != "Y") {
    return {"nic", Status::Problem, nic.pci + " is bound to vfio-pci, and there is no IOMMU",
            "turn the IOMMU on in the firmware and start the kernel with intel_iommu=on or "
            "amd_iommu=on"};
  }
  if (gives_all(driver)) {
    return {"nic", Status::Ok, nic.pci + " is DPDK's, by " + driver, ""};
  }
  const std::string owner = driver.empty() ? "no driver" : "the kernel's " + driver;
  return {"nic", Status::Problem, nic.text() + " belongs to " + owner + ", not to DPDK",
          bind_command(machine, nic) +
              (nic.interface.empty() ? ""
                                     : ", or wan.device = \"net_af_packet0,iface=" + nic.interface +
                                           "\" to share it")};
}

Finding shared_finding(const Machine& machine, const Nic& nic) {
  if (!machine.has("sys/class/net/" + nic.interface)) {
    return {"nic", Status::Problem, "there is no interface " + nic.interface,
            "`ip link` lists those there are"};
  }
  const std::string kept = nic.interface + " stays the kernel's, and ";
  if (nic.driver == af_xdp) {
    return {"nic", Status::Ok, kept + "a program of ours takes what is the gateway's", ""};
  }
  return {"nic", Status::Ok, kept + "DPDK shares it by " + nic.driver, ""};
}

/// Without a file: what could be done with it.
Finding choice_finding(const Machine& machine, const Needs& needs, const Nic& nic) {
  const std::string driver = driver_of(machine, nic);
  const std::string found =
      nic.text() + " is the kernel's" + (driver.empty() ? "" : ", by " + driver);
  if (is_mlx5(machine, nic)) return mlx5_finding(machine, needs, nic);
  const std::string share =
      "DPDK shares it by wan.device = \"net_af_packet0,iface=" + nic.interface + "\"";
  return {"nic", Status::Ok, found,
          nic.pci.empty() ? share : share + "; to own it: " + bind_command(machine, nic)};
}

void check_nic(const Machine& machine, const Needs& needs, std::vector<Finding>& findings) {
  if (needs.nics.empty()) {
    const std::string found = !needs.drivers.empty() ? needs.drivers.front() + " needs no NIC"
                              : needs.has_file
                                  ? "the kernel's routing table names no interface to the peers"
                                  : "no interface has hardware behind it";
    const bool is_lost = needs.has_file && needs.over_udp;
    findings.push_back({"nic", is_lost ? Status::Note : Status::Ok, found,
                        is_lost ? "`ip route get` with each peer.address" : ""});
  }
  for (const Nic& nic : needs.nics) {
    if (!needs.has_file) {
      findings.push_back(choice_finding(machine, needs, nic));
    } else if (!nic.is_dpdks) {
      findings.push_back({"nic", Status::Ok, "the kernel reaches peers by " + nic.interface, ""});
    } else {
      findings.push_back(nic.driver.empty() ? pci_finding(machine, needs, nic)
                                            : shared_finding(machine, nic));
    }
  }
}

void check_mtu(const Machine& machine, const Needs& needs, std::vector<Finding>& findings) {
  for (const Nic& nic : needs.nics) {
    const auto mtu = machine.number("sys/class/net/" + nic.interface + "/mtu");
    if (nic.interface.empty() || !mtu) continue;  // a device without the kernel takes what we say
    const std::string found = nic.interface + " has an MTU of " + std::to_string(*mtu) +
                              "; packets have up to " + std::to_string(nic.mtu) + " bytes";
    const std::string set = "`ip link set dev " + nic.interface + " mtu ";
    if (*mtu < nic.mtu) {
      findings.push_back({"mtu", needs.has_file ? Status::Problem : Status::Note, found,
                          set + std::to_string(nic.mtu) + "`, or lower pair.mtu at all sites"});
    } else if (nic.driver == "net_af_xdp" && *mtu > int64_t{limits::af_xdp_mtu_max}) {
      findings.push_back({"mtu", Status::Problem, found + "; " + nic.driver + " takes at most 3498",
                          set + "3498`, at the other end of a veth too"});
    } else {
      findings.push_back({"mtu", Status::Ok, found, ""});
    }
  }
}

/// The kernel's RoCE is on at a NIC whose table of addresses has an entry of it.
bool has_roce(const Machine& machine, const Nic& nic) {
  const std::string folder = nic.pci.empty() ? "sys/class/net/" + nic.interface + "/device"
                                             : "sys/bus/pci/devices/" + nic.pci;
  for (const std::string& device : machine.names(folder + "/infiniband")) {
    const std::string types = folder + "/infiniband/" + device + "/ports/1/gid_attrs/types";
    for (const std::string& index : machine.names(types)) {
      if (machine.text(types + "/" + index).find("RoCE") != std::string::npos) return true;
    }
  }
  return false;
}

std::string set_roce(const Nic& nic, const char* value) {
  return "`devlink dev param set pci/" + nic.pci + " name enable_roce value " + value +
         " cmode driverinit && devlink dev reload pci/" + nic.pci + "`";
}

/// Such a NIC takes UDP port 4791 out of what arrives, before the kernel and DPDK see it.
void check_roce(const Machine& machine, const Needs& needs, std::vector<Finding>& findings) {
  const bool is_ours =
      needs.udp_port <= roce_udp_port && roce_udp_port < needs.udp_port + uint32_t{needs.paths};
  for (const Nic& nic : needs.nics) {
    if (!is_mlx5(machine, nic)) continue;
    if (needs.by_rnic()) {
      const bool is_on = has_roce(machine, nic);
      findings.push_back({"roce", is_on ? Status::Ok : Status::Problem,
                          nic.text() + (is_on ? " speaks RoCE" : " has RoCE disabled"),
                          is_on ? "" : set_roce(nic, "true")});
      continue;
    }
    if (!has_roce(machine, nic)) {
      findings.push_back({"roce", Status::Ok, nic.text() + " leaves UDP port 4791 to us", ""});
      continue;
    }
    const Status status = needs.has_file && is_ours ? Status::Problem : Status::Note;
    findings.push_back({"roce", status,
                        nic.text() + " has RoCE enabled and keeps UDP port 4791 to itself",
                        set_roce(nic, "false") + ", or another udp_port at all sites"});
  }
}

}  // namespace

std::span<const Check> nic_checks() {
  static constexpr Check all[] = {check_nic, check_mtu, check_roce};
  return all;
}

}  // namespace cw::preflight
