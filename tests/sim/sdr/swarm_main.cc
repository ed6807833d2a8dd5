// sdr_swarm: drawn worlds of two SDR sites, one after the other.
#include "tests/sim/program/swarm_program.h"
#include "tests/sim/sdr/swarm.h"

namespace {

constexpr const char* about =
    "Draws worlds of two SDR sites and the wire between them, and lives through each in virtual\n"
    "time: first with every fault that was drawn, then in calm, in which everything must settle.";

cw::sim::SwarmOutcome run(uint64_t seed) {
  const cw::sim::SwarmRun run = cw::sim::run_swarm(seed);
  return {.violation = run.complaint, .packets = run.packets};
}

std::string world(uint64_t seed) { return cw::sim::describe(cw::sim::swarm_story(seed)); }

}  // namespace

int main(int argc, char** argv) {
  return cw::sim::swarm_main(argc, argv,
                             {.name = "sdr_swarm", .about = about, .run = run, .describe = world});
}
