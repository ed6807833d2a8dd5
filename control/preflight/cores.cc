// The processor cores: whether the packets' thread has one to itself, at full speed, near the NIC.
#include <algorithm>
#include <string>

#include "control/preflight/checks.h"

namespace cw::preflight {
namespace {

const std::string cpus = "sys/devices/system/cpu/";

bool is_in(const Machine& machine, const std::string& file, uint32_t core) {
  return has_number(machine.text(cpus + file), core);
}

void check_isolated(const Machine& machine, const Needs& needs, std::vector<Finding>& findings) {
  if (!needs.core) {
    const std::string isolated = machine.text(cpus + "isolated");
    const std::string found = isolated.empty() ? "no core is kept free of other programs"
                                               : "cores kept free of other programs: " + isolated;
    const bool is_costly = needs.polls || !isolated.empty();
    findings.push_back({"cores", is_costly ? Status::Note : Status::Ok,
                        found + (needs.has_file ? "; site.core is none" : ""),
                        is_costly ? "name one as site.core" : ""});
    return;
  }
  const std::string core = std::to_string(*needs.core);
  const bool is_isolated = is_in(machine, "isolated", *needs.core),
             is_tickless = is_in(machine, "nohz_full", *needs.core);
  if (is_isolated && is_tickless) {
    findings.push_back({"cores", Status::Ok, "core " + core + " is kept free of all else", ""});
    return;
  }
  findings.push_back(
      {"cores", Status::Note,
       "core " + core +
           (is_isolated ? " is interrupted by the kernel's timer"
                        : " is shared with other programs, which delay packets"),
       "start the kernel with isolcpus=" + core + " nohz_full=" + core + " rcu_nocbs=" + core});
}

void check_governor(const Machine& machine, const Needs& needs, std::vector<Finding>& findings) {
  const auto governor_of = [&](const std::string& name) {
    return machine.text(cpus + name + "/cpufreq/scaling_governor");
  };
  std::string slow, governor;
  for (const std::string& name : machine.names(cpus)) {
    const bool is_asked = !needs.core || name == "cpu" + std::to_string(*needs.core);
    if (!is_asked || governor_of(name).empty()) continue;
    governor = governor_of(name);
    if (governor != "performance" && slow.empty()) slow = name + " is at " + governor;
  }
  if (!slow.empty()) {
    findings.push_back({"governor", Status::Note,
                        slow + ": the first packets after a pause meet a slow core",
                        "`cpupower frequency-set -g performance`"});
    return;
  }
  const std::string found =
      governor.empty() ? "the kernel does not set the cores' frequency" : "at performance";
  findings.push_back({"governor", Status::Ok, found, ""});
}

std::string cores_of_node(const Machine& machine, uint32_t node) {
  return machine.text("sys/devices/system/node/node" + std::to_string(node) + "/cpulist");
}

void check_numa(const Machine& machine, const Needs& needs, std::vector<Finding>& findings) {
  for (const Nic& nic : needs.nics) {
    const auto node = numa_node_of(machine, nic);
    if (!node) {
      findings.push_back({"numa", Status::Ok, nic.text() + " is equally near to every core", ""});
      continue;
    }
    const std::string cores = cores_of_node(machine, *node);
    const std::string found =
        nic.text() + " is at node " + std::to_string(*node) + ", which has cores " + cores;
    const bool is_near = !needs.core || has_number(cores, *needs.core);
    findings.push_back(
        {"numa", is_near ? Status::Ok : Status::Note,
         found + (is_near ? "" : "; core " + std::to_string(*needs.core) + " is far from it"),
         is_near ? "" : "set site.core to one of " + cores});
  }
}

}  // namespace

std::span<const Check> core_checks() {
  static constexpr Check all[] = {check_isolated, check_governor, check_numa};
  return all;
}

}  // namespace cw::preflight
