#include "bench/policy/scenario_run.h"

#include <cstdio>

#include "control/sim/scenario.h"
#include "control/sim/simulation.h"
#include "dataplane/base/assert.h"

namespace cw {

Report run_scenario(const std::string& text) {
  const auto scenario = read_scenario("cell", text);
  if (!scenario) std::fprintf(stderr, "%s\n", scenario.error().sentence.c_str());
  CW_ASSERT(scenario);
  const auto simulation = Simulation::make(*scenario);
  if (!simulation) std::fprintf(stderr, "%s\n", simulation.error().sentence.c_str());
  CW_ASSERT(simulation);
  return (*simulation)->run([](uint64_t) {});
}

}  // namespace cw
