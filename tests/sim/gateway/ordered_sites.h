// Sites whose policies are ordered at run time, and that look after their swaps as the daemon does.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "control/config/policy_keys.h"
#include "dataplane/sdr/swap/swap_seat.h"
#include "policies/policies.h"
#include "tests/sim/gateway/sites.h"

namespace cw::sim {

inline site::SwapOrder order_of(const cw_policy_ops* policy) {
  site::SwapOrder order;
  order.policy = sdr::named({policy, config::default_params(*policy)});
  return order;
}

inline site::SwapOrder order_inward(const cw_policy_ops* policy) {
  site::SwapOrder order = order_of(policy);
  order.is_outward = false, order.is_inward = true;
  return order;
}

struct OrderedSites {
  explicit OrderedSites(int count = 2) : OrderedSites(site_files(count)) {}
  explicit OrderedSites(const std::vector<std::string>& files)
      : sites({.seed = 5, .files = files, .wan = {.delay = Duration::from_ms(10)}}) {
    EXPECT_TRUE(sites.come_up());
  }
  uint32_t order(const site::SwapOrder& order) {
    return sites.gateway(1).order_swap(order, sites.now());
  }
  std::vector<site::SwapView> views(uint32_t number) {
    std::vector<site::SwapView> views = sites.state(1).swaps;
    std::erase_if(views, [&](const site::SwapView& each) { return each.order != number; });
    return views;
  }
  /// The one that the order has.
  site::SwapView view(uint32_t number) {
    const auto all = views(number);
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? site::SwapView() : all.front();
  }
  bool all_are(uint32_t number, site::SwapView::Fate fate) {
    return std::ranges::all_of(views(number), [&](const auto& each) { return each.fate == fate; });
  }
  void run_for(Duration time) {
    for (Duration step = Duration::from_ms(50); time > Duration(); time = time - step) {
      sites.run_for(step);
      for (int site = 1; site <= sites.count(); ++site) {
        if (!sites.seat(site).is_alive() || !sites.state(site).has_open_swaps) continue;
        sites.gateway(site).pursue_swaps(sites.now());
      }
    }
  }
  std::string out(int site) { return sites.state(site).lanes[0].policy_out; }
  std::string in(int site) { return sites.state(site).lanes[0].policy_in; }

  Sites sites;
};

}  // namespace cw::sim
