// The same broadcast by OpenMPI over TCP, as Debian has it: an operation of a group that stands,
// whose ranks are processes in the namespaces of a bridge.
#pragma once

#include <cstdint>
#include <string>

#include "bench/e2e/bridge.h"
#include "dataplane/base/result.h"

namespace cw::bench {

struct MpiRun {
  double mean_us = 0, max_us = 0;  ///< at rank 0, until all have all
  uint64_t bytes_wrong = 0;
};

/// Empty: it can be run; else what is missing.
std::string mpi_obstacle();
/// `rounds` broadcasts from rank 0 after one that counts for none. Errors: what mpirun says.
Result<MpiRun> run_mpi(const Bridge& bridge, uint64_t bytes, uint32_t rounds);

}  // namespace cw::bench
