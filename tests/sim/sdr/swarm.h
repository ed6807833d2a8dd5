// One story per seed: everything that can be configured, sent and suffered is drawn from it.
#pragma once

#include <cstdint>
#include <string>

#include "tests/sim/sdr/story.h"

namespace cw::sim {

/// What a seed stands for. The same on every machine.
StoryOptions swarm_story(uint64_t seed);

/// The story as one line, for whoever has to find out why it failed.
std::string describe(const StoryOptions& story);

struct SwarmRun {
  std::string complaint;        ///< empty: nothing went wrong
  uint64_t packets = 0;         ///< that entered the network in both acts
  uint64_t faulty_packets = 0;  ///< of them in the first
  uint64_t trace_hash = 0;
};

/// Both acts of a seed's story under every checker.
SwarmRun run_swarm(uint64_t seed);

}  // namespace cw::sim
