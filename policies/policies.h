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
const cw_policy_ops* cw_policy_csa_ud(void);
const cw_policy_ops* cw_policy_irn(void);
const cw_policy_ops* cw_policy_nack_fixed(void);
const cw_policy_ops* cw_policy_rto_only(void);
}

namespace cw::policy {

/// Those that serve streams, passthrough first.
inline std::array<const cw_policy_ops*, 6> for_streams() {
  return {cw_policy_passthrough(), cw_policy_go_back_n(), cw_policy_selective_repeat(),
          cw_policy_erasure(),     cw_policy_hybrid(),    cw_policy_layered_interleave()};
}

/// Those that serve endpoints, passthrough first.
inline std::array<const cw_policy_ops*, 6> for_endpoints() {
  return {cw_policy_passthrough(), cw_policy_go_back_n(),  cw_policy_csa_ud(),
          cw_policy_irn(),         cw_policy_nack_fixed(), cw_policy_rto_only()};
}

inline std::array<const cw_policy_ops*, 10> all() {
  return {cw_policy_passthrough(), cw_policy_go_back_n(), cw_policy_selective_repeat(),
          cw_policy_erasure(),     cw_policy_hybrid(),    cw_policy_layered_interleave(),
          cw_policy_csa_ud(),      cw_policy_irn(),       cw_policy_nack_fixed(),
          cw_policy_rto_only()};
}

}  // namespace cw::policy
