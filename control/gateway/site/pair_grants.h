// What the shards of a site share of one pair: the grants of its links, and who gives them.
#pragma once

#include <algorithm>
#include <mutex>
#include <vector>

#include "control/gateway/plan.h"
#include "dataplane/core/rate/granter.h"

namespace cw::site {

class PairGrants {
 public:
  /// `peer`: the plan's number of the other site, to which there are several links.
  PairGrants(const Plan& plan, size_t peer)
      : lines_(plan.links), granter_(options_of(plan, peer), lines_) {}

  PairGrants(const PairGrants&) = delete;
  PairGrants& operator=(const PairGrants&) = delete;

  GrantLine& line(size_t link) { return lines_[link]; }
  /// Once in grant_interval, of so many quarters of the rate. Thread: one.
  void turn(uint64_t quarters, Instant now) {
    const std::scoped_lock lock(mutex_);
    granter_.set_quarters(quarters);
    granter_.turn(now);
  }
  /// Thread: that of turn().
  bool is_wanted(Instant now) const { return granter_.is_wanted(now); }
  /// By what the plan says now of the pair's rate, weights and adapt. Thread: any.
  void change(const Plan& plan, size_t peer) {
    const GranterOptions options = options_of(plan, peer);
    const std::scoped_lock lock(mutex_);
    granter_.set_weights(options.weights);
    granter_.set_adapt(options.rate_control.adapt);
    if (options.rate != granter_.configured()) granter_.set_rate(options.rate);
  }

 private:
  static GranterOptions options_of(const Plan& plan, size_t peer) {
    const sdr::LinkOptions& link = plan.peers[peer];
    GranterOptions options{.rate = link.pacer.rate, .rate_control = link.rate_control};
    // As Granted::tell() has it: classes beyond those that have demands share the last.
    for (size_t i = 0; i < link.qps.size(); ++i) {
      options.weights[std::min(i, grant_classes_max - 1)] += link.qps[i].weight;
    }
    return options;
  }

  std::mutex mutex_;  // no worker ever waits for it: they read their lines
  std::vector<GrantLine> lines_;
  Granter granter_;
};

}  // namespace cw::site
