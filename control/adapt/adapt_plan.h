// What a class that adapts is told by its file.
#pragma once

#include <vector>

#include "control/model/choose.h"
#include "dataplane/base/units.h"
#include "dataplane/policy.h"

namespace cw::adapt {

struct AdaptPlan {
  /// To choose from, the first that has a law to begin with; those without are never chosen.
  std::vector<const cw_policy_ops*> policies;
  model::Aim aim = model::Aim::Tail;
  Bytes transfer = Bytes(1 << 20);  ///< what hosts wait for as a whole
  bool is_dry = false;              ///< only says what it would do
  bool operator==(const AdaptPlan&) const = default;
};

/// Those that are tried on paper, from the least that is sent besides data to the most.
std::vector<model::Plan> candidates_of(const AdaptPlan& plan);
/// By which it begins: nothing is known of the line then.
model::Plan first_of(const AdaptPlan& plan);
/// "erasure (32,4)", for people.
std::string name_of(const model::Plan& plan);

}  // namespace cw::adapt
