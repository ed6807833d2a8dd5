// sdr_swarm: drawn worlds of two SDR sites, one after the other.
#include "tests/sim/program/swarm_program.h"
#include "tests/sim/sdr/swarm.h"

namespace {

constexpr const char* about =
    R"(Draws worlds of two SDR sites and the wire between them, and lives through each in virtual
time: first with every fault that was drawn, then in calm, in which everything must settle.

Drawn are policy and parameters, blocks, the cut of messages, paths, rates; losses, bursts,
blackouts, jitter, reordering, copies, damage, short queues; crashes and restarts of either end,
ends that stand still; a stranger who replays what went by, however old, and forges. Watched are
  conservation       every packet on the wire has one fate
  exactly once       every message arrives once, or is lost with its epoch
  no wrong byte      every delivered byte is the one that was sent
  one epoch          nothing of an epoch that is over is delivered
  epochs last        no epoch ends unless a site was restarted
  memory given back  nobody writes to a receive that was completed
  nothing starves    no message is open for longer than 100 s
  bounded memory     packets lent to a site stay few
  nothing kept       a site that is gone keeps no packet
  order of time      packets come in the order of their arrival
  clock monotone     time never goes back
  few turns          nobody asks for turns without end
  one policy at both ends  whatever was swapped, and refused
  converged          everything settles in the calm)";

cw::sim::SwarmOutcome run(uint64_t seed) {
  const cw::sim::SwarmRun run = cw::sim::run_swarm(seed);
  return {.violation = run.complaint, .packets = run.packets};
}

std::string world(uint64_t seed) { return cw::sim::describe(cw::sim::swarm_world(seed)); }

}  // namespace

int main(int argc, char** argv) {
  return cw::sim::swarm_main(argc, argv,
                             {.name = "sdr_swarm", .about = about, .run = run, .describe = world});
}
