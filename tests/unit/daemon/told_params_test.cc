// What the log says of parameters that ends have told each other.
#include "control/daemon/live/told_params.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "policies/policies.h"

namespace cw::daemon {
namespace {

TEST(ToldParams, are_as_a_person_writes_them_and_whatever_is_none_is_as_it_was) {
  const cw_policy_ops& policy = *cw_policy_selective_repeat();
  const cw_param* const duration =
      std::find_if(policy.params, policy.params + policy.param_count,
                   [](const cw_param& each) { return each.type == CW_PARAM_DURATION; });
  const std::string name = duration->name;
  EXPECT_EQ(told_params_text(policy, "detect=1 " + name + "=5e+06"),
            "detect=nack " + name + "=5ms");
  for (const char* const odd :
       {"", "dance=1", "detect", "=", "detect=7", "detect=x", "detect=nan"}) {
    EXPECT_EQ(told_params_text(policy, odd), odd);
  }
}

}  // namespace
}  // namespace cw::daemon
