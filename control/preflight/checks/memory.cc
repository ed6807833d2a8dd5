// Hugepages, and how much memory a process may keep from being moved.
#include <array>
#include <cstdlib>
#include <limits>
#include <string>

#include "control/preflight/checks/checks.h"

namespace cw::preflight {
namespace {

constexpr uint64_t mebibyte = uint64_t{1} << 20;

std::string mib(uint64_t bytes) { return std::to_string(bytes / mebibyte) + " MiB"; }

/// In pages of all sizes below a folder "hugepages".
uint64_t free_bytes(const Machine& machine, const std::string& folder) {
  uint64_t sum = 0;
  for (const std::string& size : machine.names(folder)) {  // hugepages-2048kB
    const uint64_t kilobytes = std::strtoull(size.c_str() + size.find('-') + 1, nullptr, 10);
    const auto pages = machine.number(folder + "/" + size + "/free_hugepages");
    sum += kilobytes * 1024 * static_cast<uint64_t>(pages.value_or(0));
  }
  return sum;
}

struct Hugepages {
  uint64_t near = 0;  ///< on the node of the NIC, or on that which has most
  std::string text;   ///< of all nodes
};

Hugepages hugepages_of(const Machine& machine, const Needs& needs) {
  Hugepages all;
  const auto node = needs.nics.empty() ? std::nullopt : numa_node_of(machine, needs.nics.front());
  for (const std::string& name : machine.names("sys/devices/system/node")) {
    if (!name.starts_with("node")) continue;
    const uint64_t bytes = free_bytes(machine, "sys/devices/system/node/" + name + "/hugepages");
    if (!node || name == "node" + std::to_string(*node)) all.near = std::max(all.near, bytes);
    all.text += (all.text.empty() ? "" : ", ") + mib(bytes) + " on " + name;
  }
  if (!all.text.empty()) return all;
  all.near = free_bytes(machine, "sys/kernel/mm/hugepages");
  all.text = mib(all.near);
  return all;
}

void check_hugepages(const Machine& machine, const Needs& needs, std::vector<Finding>& findings) {
  if (!needs.over_dpdk) {
    findings.push_back({"hugepages", Status::Ok, "not needed: no port is \"dpdk\"", ""});
    return;
  }
  const Hugepages free = hugepages_of(machine, needs);
  const std::string found =
      "free in hugepages: " + free.text + "; DPDK wants " + mib(needs.hugepage_bytes);
  if (free.near >= needs.hugepage_bytes) {
    findings.push_back({"hugepages", Status::Ok, found, ""});
    return;
  }
  const uint64_t pages = needs.hugepage_bytes / (2 * mebibyte) + 1;
  findings.push_back({"hugepages", Status::Note,
                      found + "; it runs without, and more of its time goes to address translation",
                      "`echo " + std::to_string(pages) +
                          " > /proc/sys/vm/nr_hugepages`, more where others need them too"});
}

/// Nothing: no limit.
std::optional<uint64_t> memory_lock(const Machine& machine) {
  constexpr std::string_view name = "Max locked memory";
  for (const std::string& line : machine.lines("proc/self/limits")) {
    if (!line.starts_with(name)) continue;
    const auto words = words_of(line.substr(name.size()));
    if (!words.empty() && words[0] != "unlimited")
      return std::strtoull(words[0].c_str(), nullptr, 10);
  }
  return std::nullopt;
}

struct Locked {
  uint64_t bytes;
  const char* who;
  Status without;
};

/// Whose device reads what where it lies; nothing: nobody's.
std::optional<Locked> locked_of(const Needs& needs) {
  if (needs.by_rnic()) return Locked{needs.registered_bytes, "an RNIC", Status::Problem};
  const bool has_nic = needs.over_dpdk && !(needs.has_file && needs.nics.empty());
  if (!has_nic) return std::nullopt;
  return Locked{needs.hugepage_bytes, "DPDK", Status::Note};
}

void check_memory_lock(const Machine& machine, const Needs& needs, std::vector<Finding>& findings) {
  const auto limit = memory_lock(machine);
  const auto wanted = locked_of(needs);
  if (!wanted || !limit || has_right(machine, Right::IpcLock)) {
    const std::string found = !wanted ? "not needed: no NIC reads packets where they lie"
                              : limit ? "no limit for who has CAP_IPC_LOCK"
                                      : "no limit";
    findings.push_back({"memory lock", Status::Ok, found, ""});
    return;
  }
  const bool is_enough = *limit >= wanted->bytes;
  findings.push_back(
      {"memory lock", is_enough ? Status::Ok : wanted->without,
       "at most " + mib(*limit) + " may be locked; " + wanted->who + " wants " +
           mib(wanted->bytes) + ", and may refuse less",
       is_enough ? "" : "`ulimit -l unlimited`, or LimitMEMLOCK=infinity in the unit"});
}

}  // namespace

std::span<const Check> memory_checks() {
  static constexpr Check all[] = {check_hugepages, check_memory_lock};
  return all;
}

}  // namespace cw::preflight
