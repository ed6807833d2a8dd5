// When a policy is told of its budget: not each turn, but when a number of it is another than the
// one that it knows.
#pragma once

#include <algorithm>
#include <cstdint>

#include "dataplane/policy.h"

namespace cw::sdr {

class BudgetWatch {
 public:
  /// Whether to tell it; it counts as told then. The first is always news.
  bool is_news(const cw_fact_budget& budget) {
    const bool differs = !is_told_ ||
                         is_another(static_cast<uint64_t>(told_.backlog_ns),
                                    static_cast<uint64_t>(budget.backlog_ns)) ||
                         is_another(told_.slot_credit, budget.slot_credit) ||
                         is_another(told_.repair_bytes, budget.repair_bytes);
    if (differs) told_ = budget;
    is_told_ = true;
    return differs;
  }
  /// There is a new instance, who knows nothing.
  void forget() { is_told_ = false; }

 private:
  /// By more than a quarter of the larger; so from or to nothing always.
  static bool is_another(uint64_t a, uint64_t b) {
    return std::max(a, b) - std::min(a, b) > std::max(a, b) / 4;
  }

  cw_fact_budget told_{};
  bool is_told_ = false;
};

}  // namespace cw::sdr
