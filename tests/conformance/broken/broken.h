// One policy per property that lacks this property and no other. They show that the suite can
// refuse, and that it refuses for the right reason.
#pragma once

#include "dataplane/policy.h"

namespace cw::conformance::broken {

const cw_policy_ops* plain();  ///< healthy

const cw_policy_ops* resends_for_luck();
const cw_policy_ops* tries_twice();
const cw_policy_ops* remembers_other_runs();
const cw_policy_ops* keeps_a_timer();
const cw_policy_ops* obeys_every_note();
const cw_policy_ops* forgets_its_memory();
const cw_policy_ops* ignores_drains();
const cw_policy_ops* compares_plainly();
const cw_policy_ops* takes_skew_for_loss();
const cw_policy_ops* counts_slots();
const cw_policy_ops* trusts_in_numbers();
const cw_policy_ops* throws_away();
const cw_policy_ops* takes_blocks_for_full();

}  // namespace cw::conformance::broken
