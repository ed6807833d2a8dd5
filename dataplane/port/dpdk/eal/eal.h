// DPDK's environment (EAL), which a process has once: memory for packets, the drivers, and what
// they log. Ports attach their devices to it later (device.h).
//
// What the user leaves open is chosen (eal_arguments.h), and nothing is left behind in the file
// system, whatever end the process comes to.
#pragma once

#include <string>

#include "dataplane/base/result.h"
#include "dataplane/device/eal_arguments.h"

namespace cw {

/// What was chosen, for the log of a person who wonders.
struct EalChoice {
  bool has_hugepages = false;
  bool has_pci = false;
  std::string arguments;  ///< all, as on a command line
};

/// Starts the EAL, or returns how it was started before: the first call's options hold for the
/// process, and so does its failure. The calling thread keeps its processor affinity. A second, and
/// some hundred milliseconds of it for loading drivers.
/// Errors: hugepages asked for and not there, no right to something, an argument DPDK does not
/// know; each says what to do.
Result<EalChoice> start_eal(const EalOptions& options);

}  // namespace cw
