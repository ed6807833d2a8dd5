// Who is tested: a policy, with what it promises beyond the ABI.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "dataplane/policy.h"

namespace cw::conformance {

/// Where a policy sits. The properties are asked over streams; at endpoints they are asked by
/// tests/unit/policies/every_endpoint_policy_test.cc.
enum class Seats { Streams, Endpoints, Both };

/// A row of the suite's table. What a policy does not promise is said here and nowhere else.
struct Traits {
  const char* policy;
  const char* variant = "";                   ///< tells rows of one policy apart
  std::map<std::string, double> params = {};  ///< by name; the others have their defaults
  Seats seats = Seats::Streams;
  /// False: what is lost stays lost, by design, and delivery after loss is not asked for.
  bool repairs = true;
  /// True: its stream has blocks, as its limits ask for.
  bool codes = false;
  /// Resends per data slot on paths of different lengths that lose nothing.
  double spurious_share_max = 0;
  /// What one note can cause, however it lies: far less than the core allows in an RTT.
  uint64_t decisions_per_note_max = 4096;
};

struct Candidate {
  std::string name;  ///< of the test
  const cw_policy_ops* ops;
  Traits traits;
  bool source_has_rnic = false, sink_has_rnic = false;

  /// One value per declared parameter, in order.
  std::vector<double> params() const;
};

/// Every policy that serves streams, as a file, between every pair of ends; or, when
/// CAUSEWAY_PLUGIN names a file, the policy in it alone, between ends that move bytes.
std::vector<Candidate> candidates();
/// Every row of the table, as a file, wherever it sits.
std::vector<Candidate> rows();

}  // namespace cw::conformance
