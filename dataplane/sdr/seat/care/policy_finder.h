// Where the policy is found that a swap names, and which of them no swap brings. Not in a turn.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/policy.h"
#include "dataplane/sdr/options.h"

namespace cw::sdr {

/// Thread: one at a time.
class PolicyFinder {
 public:
  /// What is found stays for as long as a seat may have it. Errors: there is none of that name.
  virtual Result<const cw_policy_ops*> find(std::string_view name) = 0;
  /// It was put in quarantine: with these parameters it is barred from now on.
  virtual void bar(const PolicyChoice& policy) = 0;
  virtual bool is_barred(const PolicyChoice& policy) const = 0;

 protected:
  ~PolicyFinder() = default;
};

/// Those that a program is linked with; it may be none. What is barred is so while this lives.
class ListedPolicies final : public PolicyFinder {
 public:
  ListedPolicies() = default;
  explicit ListedPolicies(std::span<const cw_policy_ops* const> all)
      : all_(all.begin(), all.end()) {}
  Result<const cw_policy_ops*> find(std::string_view name) override;
  void bar(const PolicyChoice& policy) override { barred_.push_back(Barred::of(policy)); }
  bool is_barred(const PolicyChoice& policy) const override;

 private:
  struct Barred {
    const cw_policy_ops* ops = nullptr;
    std::vector<double> params;

    static Barred of(const PolicyChoice& policy) {
      return {policy.ops, {policy.params.begin(), policy.params.end()}};
    }
    bool operator==(const Barred&) const = default;
  };
  std::vector<const cw_policy_ops*> all_;
  std::vector<Barred> barred_;
};

}  // namespace cw::sdr
