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
#include "control/trace/trace_document.h"
#include "dataplane/base/result.h"
#include "dataplane/port/sim/network.h"
#include "dataplane/sdr/seat/trace/policy_trace.h"

namespace cw {

class Simulation {
 public:
  /// `scenario` outlives the simulation. Errors: what the stream or the policy refuses.
  static Result<std::unique_ptr<Simulation>> make(const Scenario& scenario);

  /// Runs to the end or to the virtual time limit. `on_progress` is told the messages finished so
  /// far, now and then.
  Report run(const std::function<void(uint64_t)>& on_progress);

  /// Before run(): policies at the sender and at the first receiver are traced from their first
  /// fact on, each into so many bytes.
  void record(size_t bytes_max);
  /// What they were told and decided.
  trace::TraceDocument recorded() const;

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
  std::vector<sdr::Link*> ends_;                           // of the first of them, the source first
  std::vector<std::shared_ptr<sdr::PolicyTrace>> traces_;  // of these; none: nothing is recorded
};

}  // namespace cw
