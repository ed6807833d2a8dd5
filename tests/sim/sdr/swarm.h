// One world per seed: everything that can be configured, sent and suffered is drawn from it.
#pragma once

#include <cstdint>
#include <string>

#include "tests/sim/sdr/world.h"

namespace cw::sim {

/// What a seed stands for. The same on every machine.
WorldOptions swarm_world(uint64_t seed);

/// The world as one line, for whoever has to find out why it failed.
std::string describe(const WorldOptions& world);

struct SwarmRun {
  std::string complaint;        ///< "checker: sentence"; empty: nothing went wrong
  uint64_t packets = 0;         ///< that entered the network in both acts
  uint64_t faulty_packets = 0;  ///< of them in the first
  uint64_t turns = 0;
  uint64_t trace_hash = 0;
};

/// Both acts of a world under every checker.
SwarmRun run_swarm(const WorldOptions& world);
inline SwarmRun run_swarm(uint64_t seed) { return run_swarm(swarm_world(seed)); }

}  // namespace cw::sim
