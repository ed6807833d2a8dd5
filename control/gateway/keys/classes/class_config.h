// A [[class]] as it was written, key by key.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "control/adapt/adapt_plan.h"
#include "dataplane/gateway/options.h"
#include "dataplane/policy.h"

namespace cw::site {

/// What a class's messages have room for.
struct ClassPolicy {
  const cw_policy_ops* ops = nullptr;
  std::vector<double> params;  // one per declared parameter
  cw_policy_limits needs{};
};

struct ClassConfig {
  std::string name;
  std::vector<gateway::ClassMatch> matches;
  bool is_for_all = true;                 // no match was written
  const cw_policy_ops* policy = nullptr;  // or the one to begin with
  bool adapts = false;                    // policy was "adaptive"
  adapt::AdaptPlan adapt;                 // then; its policies are known when it has been read
  bool has_policy = false;                // one was written
  bool holds_by_default = false;          // hold is hold_of()
  std::vector<double> params;
  std::vector<const cw_policy_ops*> others;  // that `policies` names
  bool has_others = false;                   // it was written
  const cw_policy_ops* fallback = nullptr;   // after a quarantine
  uint32_t weight = 1;
  gateway::OrderRule order = gateway::OrderRule::ByKind;
  Duration hold = Duration::max(), host_timeout = Duration::max(), queue = Duration::max();
  Duration block_age = Duration::max();
  bool mark = true, fair = false;
  /// The most that may wait when the RTT has grown to pair.rtt_max.
  Duration queue_worst(Duration rtt_max) const {
    return queue != Duration::max() ? queue : gateway::queue_by_rtt(rtt_max, hold);
  }
  // Known when the class has been read; then none of the above is at its max() either, save queue.
  std::vector<ClassPolicy> policies;  // first the one by which it sends
  /// Of whatever may send.
  Duration recovery_worst() const {
    int64_t worst = policies.front().needs.recovery_worst_ns;
    for (const ClassPolicy& each : policies) {
      if (adapts) worst = std::max(worst, each.needs.recovery_worst_ns);
    }
    return Duration::from_ns(worst);
  }
};

}  // namespace cw::site
