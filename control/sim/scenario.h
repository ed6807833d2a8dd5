// A scenario: everything that decides a simulated run, as causeway-sim's file says it. The keys,
// with their units, ranges and defaults, are declared in scenario.cc; README.md shows them at work.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/core/rate/pacer.h"
#include "dataplane/policy.h"
#include "dataplane/port/impair/impairment.h"
#include "dataplane/sdr/stream/stream_config.h"

namespace cw {

/// Both directions of one path.
struct PathScenario {
  Impairment there;  ///< from the sender to a receiver: data
  Impairment back;   ///< from a receiver to the sender: credit and notes
};

struct WorkloadScenario {
  uint64_t messages = 1000;  ///< measured, per receiver
  uint64_t warm_up = 0;      ///< sent before those, and not counted
  std::vector<Bytes> sizes;  ///< taken in turn; empty: uniform from size_min to size_max
  Bytes size_min = Bytes(64 << 10), size_max = Bytes(64 << 10);
  uint32_t in_flight = 1;  ///< open at the sender at once
  uint32_t posted = 4;     ///< receives posted ahead
  Duration patience = Duration::max();

  uint64_t total() const { return warm_up + messages; }
  Bytes largest() const;
};

struct RunScenario {
  uint64_t seed = 1;
  Duration limit = Duration::from_s(3600);  ///< virtual
  Duration turn = Duration::from_us(20);
  bool carry_bytes = false;
  bool verify = true;
};

struct Scenario {
  uint16_t receivers = 1;
  std::vector<PathScenario> paths;
  sdr::StreamConfig stream;
  PacerOptions pacer;
  const cw_policy_ops* policy = nullptr;
  std::vector<double> policy_params;  ///< one per parameter that the policy declares
  WorkloadScenario workload;
  RunScenario run;
};

/// What a file may name, and what it gets when it names none; the tables outlive the scenario.
struct Policies {
  std::vector<const cw_policy_ops*> known;
  const cw_policy_ops* initial;  ///< one of `known`

  static Policies built_in();
};

/// Reads the text of a scenario file. Errors: every mistake in it, one line each, as
/// "file:line:column: sentence".
Result<Scenario> read_scenario(std::string_view file, std::string_view text,
                               const Policies& policies = Policies::built_in());

/// Every key of a scenario file, for a person.
std::string scenario_keys(const Policies& policies);

}  // namespace cw
