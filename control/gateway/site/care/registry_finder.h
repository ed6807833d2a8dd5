// Where a site finds the policies that swaps name: its registry; and those that it does not want
// again. What was found once stays in use until it is known that nobody goes by it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "control/gateway/site/care/bars.h"
#include "dataplane/sdr/seat/care/policy_finder.h"
#include "plugins/registry.h"

namespace cw::site {

class RegistryFinder final : public sdr::PolicyFinder {
 public:
  explicit RegistryFinder(plugins::Registry& registry) : registry_(registry), bars_(registry) {}

  /// Whether something is in use that its name does not find any more.
  bool has_replaced() {
    return std::ranges::any_of(used_, [&](const plugins::PolicyRef& each) {
      const auto newest = registry_.find(each.table().name);
      return newest && &newest->table() != &each.table();
    });
  }
  /// All else goes, and files that newer ones have replaced are unmapped; returns how many.
  size_t keep_only(std::span<const cw_policy_ops* const> tables) {
    std::erase_if(used_, [&](const plugins::PolicyRef& each) {
      return std::ranges::find(tables, &each.table()) == tables.end();
    });
    return registry_.unload_replaced();
  }

  Bars& bars() { return bars_; }
  const Bars& bars() const { return bars_; }
  void bar(const sdr::PolicyChoice& policy) override { bars_.add(policy); }
  bool is_barred(const sdr::PolicyChoice& policy) const override {
    return bars_.find(policy) != nullptr;
  }

  Result<const cw_policy_ops*> find(std::string_view name) override {
    auto found = registry_.find(name);
    if (!found) return std::unexpected(found.error());
    const cw_policy_ops* const table = &found->table();
    for (const plugins::PolicyRef& each : used_) {
      if (&each.table() == table) return table;
    }
    used_.push_back(std::move(*found));
    return table;
  }

 private:
  plugins::Registry& registry_;
  Bars bars_;
  std::vector<plugins::PolicyRef> used_;
};

}  // namespace cw::site
