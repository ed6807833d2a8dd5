// The processor cores: whether the packets' thread has one to itself, at full speed, near the NIC.
#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "control/preflight/checks/checks.h"

namespace cw::preflight {
namespace {

const std::string cpus = "sys/devices/system/cpu/";

bool is_in(const Machine& machine, const std::string& file, uint32_t core) {
  return has_number(machine.text(cpus + file), core);
}

/// "2", or "2,3".
std::string list_of(std::span<const uint32_t> cores) {
  std::string text;
  for (const uint32_t core : cores) text += (text.empty() ? "" : ",") + std::to_string(core);
  return text;
}

std::string cores_text(std::span<const uint32_t> cores) {
  return (cores.size() == 1 ? "core " : "cores ") + list_of(cores);
}

/// Of those that the file names.
template <class Is>
std::vector<uint32_t> cores_that(const Needs& needs, Is&& is) {
  std::vector<uint32_t> cores;
  std::ranges::copy_if(needs.cores, std::back_inserter(cores), is);
  return cores;
}

void check_isolated(const Machine& machine, const Needs& needs, std::vector<Finding>& findings) {
  if (needs.cores.empty()) {
    const std::string isolated = machine.text(cpus + "isolated");
    const std::string found = isolated.empty() ? "no core is kept free of other programs"
                                               : "cores kept free of other programs: " + isolated;
    const bool is_costly = needs.polls || !isolated.empty();
    findings.push_back({"cores", is_costly ? Status::Note : Status::Ok,
                        found + (needs.has_file ? "; site.core is none" : ""),
                        is_costly ? "name one as site.core" : ""});
    return;
  }
  const auto shared =
      cores_that(needs, [&](uint32_t core) { return !is_in(machine, "isolated", core); });
  const auto ticking =
      cores_that(needs, [&](uint32_t core) { return !is_in(machine, "nohz_full", core); });
  const bool is_one = needs.cores.size() == 1;
  if (shared.empty() && ticking.empty()) {
    const std::string free = is_one ? " is kept free of all else" : " are kept free of all else";
    findings.push_back({"cores", Status::Ok, cores_text(needs.cores) + free, ""});
    return;
  }
  const auto& wrong = shared.empty() ? ticking : shared;
  const std::string all = list_of(needs.cores), are = wrong.size() == 1 ? " is " : " are ";
  findings.push_back(
      {"cores", Status::Note,
       cores_text(wrong) + are +
           (shared.empty() ? "interrupted by the kernel's timer"
                           : "shared with other programs, which delay packets"),
       "start the kernel with isolcpus=" + all + " nohz_full=" + all + " rcu_nocbs=" + all});
}

void check_governor(const Machine& machine, const Needs& needs, std::vector<Finding>& findings) {
  const auto governor_of = [&](const std::string& name) {
    return machine.text(cpus + name + "/cpufreq/scaling_governor");
  };
  std::string slow, governor;
  for (const std::string& name : machine.names(cpus)) {
    const bool is_asked =
        needs.cores.empty() || std::ranges::any_of(needs.cores, [&](uint32_t core) {
          return name == "cpu" + std::to_string(core);
        });
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
    const auto far = cores_that(needs, [&](uint32_t core) { return !has_number(cores, core); });
    const std::string key =
        needs.cores.size() > 1 ? "site.cores to some of " : "site.core to one of ";
    findings.push_back(
        {"numa", far.empty() ? Status::Ok : Status::Note,
         found + (far.empty() ? ""
                              : "; " + cores_text(far) + (far.size() == 1 ? " is" : " are") +
                                    " far from it"),
         far.empty() ? "" : "set " + key + cores});
  }
}

}  // namespace

std::span<const Check> core_checks() {
  static constexpr Check all[] = {check_isolated, check_governor, check_numa};
  return all;
}

}  // namespace cw::preflight
