// One run of a scenario: real endpoints over the simulated network, under a virtual clock. A
// scenario and a seed decide everything but the seconds it takes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "control/sim/report.h"
#include "control/sim/scenario.h"
#include "control/sim/site.h"
#include "control/sim/transfer.h"
#include "dataplane/base/result.h"
#include "dataplane/port/sim/network.h"

namespace cw {

class Simulation {
 public:
  /// `scenario` outlives the simulation. Errors: what the stream or the policy refuses.
  static Result<std::unique_ptr<Simulation>> make(const Scenario& scenario);

  /// Runs to the end or to the virtual time limit. `on_progress` is told the messages finished so
  /// far, now and then.
  Report run(const std::function<void(uint64_t)>& on_progress);

 private:
  explicit Simulation(const Scenario& scenario);
  Result<void> join();
  void shape(SimPort& sender, SimPort& receiver, SimPeers peers);
  void turn(Instant now);
  Instant next_event();
  bool is_done() const;
  uint64_t finished_count() const;
  Report report() const;

  const Scenario& scenario_;
  SimNetwork network_;
  Payload payload_;
  std::vector<std::unique_ptr<Site>> sites_;  // the sender first
  std::vector<std::unique_ptr<Transfer>> transfers_;
};

}  // namespace cw
