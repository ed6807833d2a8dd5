// A policy that finds room for one decision at a time: what it says then must be what it would have
// said anyway.
#pragma once

#include "dataplane/base/assert.h"
#include "dataplane/policy.h"
#include "dataplane/sdr/seat/policy_instance.h"

namespace cw::policy_test {

/// One at a time; its table is valid as long as it is.
class NarrowTable {
 public:
  explicit NarrowTable(const cw_policy_ops& ops) {
    inner_ = *sdr::complete_policy_table(ops);
    table_ = inner_;
    table_.opened = fact<&cw_policy_ops::opened>;
    table_.closed = fact<&cw_policy_ops::closed>;
    table_.refused = fact<&cw_policy_ops::refused>;
    table_.arrived = fact<&cw_policy_ops::arrived>;
    table_.expired = fact<&cw_policy_ops::expired>;
    table_.link = fact<&cw_policy_ops::link>;
    table_.step = fact<&cw_policy_ops::step>;
    table_.timer = [](cw_policy* policy, uint64_t cookie, int64_t now_ns, cw_out* out) {
      narrowly(out, [&](cw_out* narrow) { inner_.timer(policy, cookie, now_ns, narrow); });
    };
    table_.resume = [](cw_policy* policy, int64_t now_ns, cw_out* out) {
      narrowly(out, [&](cw_out* narrow) { inner_.resume(policy, now_ns, narrow); });
    };
  }
  const cw_policy_ops& table() const { return table_; }

 private:
  template <class Call>
  static void narrowly(cw_out* out, Call&& call) {
    cw_out narrow = *out;
    narrow.decision_capacity = std::min(out->decision_count + 1, out->decision_capacity);
    call(&narrow);
    out->decision_count = narrow.decision_count;
    out->more = narrow.more;
  }
  template <auto Function, class Fact>
  static void fact(cw_policy* policy, const Fact* what, int64_t now_ns, cw_out* out) {
    narrowly(out, [&](cw_out* narrow) { (inner_.*Function)(policy, what, now_ns, narrow); });
  }

  static inline cw_policy_ops inner_;
  cw_policy_ops table_;
};

}  // namespace cw::policy_test
