// Where the policy is found that a swap names. Not in a turn.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/policy.h"

namespace cw::sdr {

/// Thread: one at a time.
class PolicyFinder {
 public:
  /// What is found stays for as long as a seat may have it. Errors: there is none of that name.
  virtual Result<const cw_policy_ops*> find(std::string_view name) = 0;

 protected:
  ~PolicyFinder() = default;
};

/// Those that a program is linked with; it may be none.
class ListedPolicies final : public PolicyFinder {
 public:
  ListedPolicies() = default;
  explicit ListedPolicies(std::span<const cw_policy_ops* const> all)
      : all_(all.begin(), all.end()) {}
  Result<const cw_policy_ops*> find(std::string_view name) override;

 private:
  std::vector<const cw_policy_ops*> all_;
};

}  // namespace cw::sdr
