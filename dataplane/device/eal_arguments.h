// What DPDK's environment (EAL) is started with. What the user leaves open is chosen here:
// hugepages where enough of them are free, plain memory elsewhere; no look at the PCI bus unless a
// PCI device is named.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cw {

/// One line of DPDK's own log, without its end. `level` is that of syslog: 3 is an error. Thread:
/// whichever DPDK logs from.
using EalLog = void (*)(int level, const char* line);

struct EalOptions {
  /// As the ports name them: "net_memif0,role=server", "0000:3b:00.0,..". A PCI device must be
  /// here.
  std::vector<std::string> devices;
  std::vector<std::string> arguments;  ///< for rte_eal_init(), behind ours; they win
  std::optional<uint32_t> core;        ///< of EAL's one lcore; none: the first that we may run on
  uint32_t memory_mib = 256;           ///< taken at start without hugepages, needed with
  EalLog log = nullptr;                ///< null: quiet
};

/// In the size of pages that has most of them.
uint64_t hugepage_bytes_free();

/// What start_eal() would hand to rte_eal_init() on a machine with so much memory free in
/// hugepages; without the program's name.
std::vector<std::string> eal_arguments(const EalOptions& options, uint64_t hugepage_bytes_free);

/// What to do about an error of rte_eal_init(), of those that people meet; a clause that goes on a
/// sentence, or empty.
std::string advice_for_eal(int error, bool lacks_hugepages);

}  // namespace cw
