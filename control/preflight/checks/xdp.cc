// AF_XDP: what an interface's driver and the kernel can do of it, and what that costs. No file says
// which drivers can do what; the table is that of Linux 6.1.
#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <string_view>

#include "control/preflight/checks/checks.h"
#include "dataplane/base/limits.h"

namespace cw::preflight {
namespace {

/// Drivers that run a program before the kernel has made anything of a frame; of these, those that
/// put frames into our memory themselves.
constexpr std::array<std::string_view, 26> native = {
    "atlantic", "bnxt_en",   "bonding", "ena",        "fec",   "gve",     "hinic",
    "i40e",     "ice",       "igb",     "igc",        "ixgbe", "ixgbevf", "mana",
    "mlx4_en",  "mlx5_core", "mvneta",  "mvpp2",      "nfp",   "qede",    "sfc",
    "stmmac",   "tsnep",     "veth",    "virtio_net", "tun"};
constexpr std::array<std::string_view, 7> without_copies = {"i40e",      "ice", "igc",   "ixgbe",
                                                            "mlx5_core", "nfp", "stmmac"};

/// A program of the kernel's generic place has the frame made a packet first.
Finding place_finding(const std::string& interface, const std::string& driver) {
  const bool is_native = std::ranges::find(native, driver) != native.end();
  const bool is_without_copies = std::ranges::find(without_copies, driver) != without_copies.end();
  const std::string found = interface + (driver.empty() ? "" : " (" + driver + ")");
  if (is_without_copies) return {"xdp", Status::Ok, found + ": in the driver, without copies", ""};
  if (is_native) return {"xdp", Status::Ok, found + ": in the driver, frames copied once", ""};
  return {"xdp", Status::Note,
          found +
              ": this driver is not known to run XDP programs itself; the kernel's generic "
              "place does, behind an skb for each frame",
          "a NIC whose driver does, such as ice, i40e, ixgbe, mlx5 or ena"};
}

void check_queues(const Machine& machine, const Needs& needs, const std::string& interface,
                  std::vector<Finding>& findings) {
  const auto names = machine.names("sys/class/net/" + interface + "/queues");
  const auto queues = static_cast<size_t>(std::ranges::count_if(
      names, [](const std::string& name) { return name.starts_with("rx-"); }));
  const size_t cores = std::max<size_t>(needs.cores.size(), 1);
  if (queues == 0 || queues >= cores) return;
  findings.push_back({"xdp", Status::Problem,
                      interface + " receives by " + std::to_string(queues) + " queues, and " +
                          std::to_string(cores) + " site.cores want one each",
                      "`ethtool -L " + interface + " combined " + std::to_string(cores) + "`"});
}

/// Whether the kernel is of this version or a later one. None that says so is taken for one.
bool is_at_least(const Machine& machine, int major, int minor) {
  int has_major = 0, has_minor = 0;
  const std::string release = machine.text("proc/sys/kernel/osrelease");
  if (std::sscanf(release.c_str(), "%d.%d", &has_major, &has_minor) != 2) return true;
  return has_major > major || (has_major == major && has_minor >= minor);
}

/// Of packets that have no room in a page.
void check_long_packets(const Machine& machine, const std::string& interface,
                        std::vector<Finding>& findings) {
  const auto mtu = machine.number("sys/class/net/" + interface + "/mtu");
  if (!mtu || *mtu <= int64_t{limits::af_xdp_mtu_max}) return;
  const std::string page = std::to_string(limits::af_xdp_mtu_max);
  const std::string found = interface + " has an MTU of " + std::to_string(*mtu);
  const std::string set = "`ip link set dev " + interface + " mtu " + page + "`";
  if (!is_at_least(machine, 6, 6)) {
    findings.push_back({"xdp", Status::Problem,
                        found + "; before Linux 6.6 sockets of AF_XDP take " + page + " at most",
                        set + ", at the other end of a veth too, or a newer kernel"});
    return;
  }
  findings.push_back({"xdp", Status::Note,
                      found + ": packets of more than a page come in pieces, which costs a copy of "
                              "what is beyond the first, and takes a driver that can do so",
                      "nothing, unless the driver refuses at start; then " + set});
}

void check_dispatcher(const Machine& machine, std::vector<Finding>& findings) {
  const auto mounts = machine.lines("proc/self/mounts");
  const bool has_bpffs = std::ranges::any_of(mounts, [](const std::string& line) {
    return line.find(" /sys/fs/bpf bpf ") != std::string::npos;
  });
  if (has_bpffs) return;
  findings.push_back({"xdp", Status::Note,
                      "no bpffs at /sys/fs/bpf: our program must be the only one of its interface",
                      "`mount -t bpf bpf /sys/fs/bpf`"});
}

void check_xdp(const Machine& machine, const Needs& needs, std::vector<Finding>& findings) {
  bool is_wanted = false;
  for (const Nic& nic : needs.nics) {
    if (nic.driver != af_xdp) continue;
    is_wanted = true;
    if (!machine.has("sys/class/net/" + nic.interface)) continue;  // told of by `nic`
    findings.push_back(place_finding(nic.interface, driver_of(machine, nic)));
    check_queues(machine, needs, nic.interface, findings);
    check_long_packets(machine, nic.interface, findings);
  }
  if (is_wanted) check_dispatcher(machine, findings);
}

}  // namespace

std::span<const Check> xdp_checks() {
  static constexpr Check checks[] = {check_xdp};
  return checks;
}

}  // namespace cw::preflight
