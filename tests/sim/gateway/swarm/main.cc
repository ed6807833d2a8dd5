// gateway_swarm: drawn worlds of two to four sites, one after the other.
#include "tests/sim/gateway/swarm/life.h"
#include "tests/sim/program/swarm_program.h"

namespace {

constexpr const char* about =
    "Draws worlds of two to four sites, made from configuration text as causewayd makes them, "
    "with\n"
    "hosts that speak UDP-like, TCP-like and RC-like, and lives through each in virtual time: "
    "first\n"
    "with every fault that was drawn (loss, bursts, jitter, reordering, copies, damage that is "
    "found\n"
    "out or delivered, narrow lines, blackouts, dead paths, other ways, pauses and crashes of\n"
    "gateways, an intruder who replays and forges), then in calm, in which everything must "
    "settle.\n"
    "\n"
    "Checkers, all the time: conservation, order, age, memory, credit, rate, overhead, wire; at "
    "the\n"
    "end: recovery, liveness.";

cw::sim::SwarmOutcome run(uint64_t seed) {
  cw::sim::Life life(cw::sim::draw_world(seed));
  const std::string violation = life.live();
  return {.violation = violation, .packets = life.packets()};
}

std::string world(uint64_t seed) { return cw::sim::describe(cw::sim::draw_world(seed)); }

}  // namespace

int main(int argc, char** argv) {
  return cw::sim::swarm_main(
      argc, argv, {.name = "gateway_swarm", .about = about, .run = run, .describe = world});
}
