// Every policy of this folder in its static form: the same table that its .so exports.
#pragma once

#include <array>

#include "dataplane/policy.h"

extern "C" {
const cw_policy_ops* cw_policy_passthrough(void);
const cw_policy_ops* cw_policy_go_back_n(void);
const cw_policy_ops* cw_policy_selective_repeat(void);
const cw_policy_ops* cw_policy_erasure(void);
const cw_policy_ops* cw_policy_hybrid(void);
const cw_policy_ops* cw_policy_layered_interleave(void);
}

namespace cw::policy {

inline std::array<const cw_policy_ops*, 6> all() {
  return {cw_policy_passthrough(), cw_policy_go_back_n(), cw_policy_selective_repeat(),
          cw_policy_erasure(),     cw_policy_hybrid(),    cw_policy_layered_interleave()};
}

}  // namespace cw::policy
