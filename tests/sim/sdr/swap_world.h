// Pairs of sites whose policies are swapped by the protocol itself.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "dataplane/sdr/stream/recv/recv_stream.h"
#include "dataplane/sdr/stream/send/send_stream.h"
#include "dataplane/sdr/swap/swap_end.h"
#include "offload/codec/codecs.h"
#include "tests/sim/sdr/coding_world.h"
#include "tests/sim/sdr/slots_world.h"
#include "tests/sim/sdr/story.h"

namespace cw::sim {

/// Its parameters have their defaults.
inline sdr::PolicyChoice choice_of(const cw_policy_ops* policy) {
  static std::map<const cw_policy_ops*, std::vector<double>> params;
  if (!params.contains(policy)) {
    for (uint32_t i = 0; i < policy->param_count; ++i) {
      params[policy].push_back(policy->params[i].initial);
    }
  }
  return {policy, params[policy]};
}

/// A site under one of the policies, with room for the blocks of all of them.
inline SiteOptions roomy_site(const cw_policy_ops* policy) {
  SiteOptions site = site_under(policy);
  site.stream.messages = 8;
  site.stream.data_slots_max = 1024;
  const auto all = policy::for_streams();
  site.knows.assign(all.begin(), all.end());
  for (const cw_policy_ops* each : policy::for_streams()) {
    const auto needs = sdr::needs_of(choice_of(each), site.stream, {.rtt = Duration::from_ms(20)});
    site.stream = sdr::coded(site.stream, needs, code::all());
  }
  return site;
}

inline PairOptions slots_pair_under(const cw_policy_ops* policy, double loss) {
  SiteOptions site = roomy_site(policy);
  site.send.slot_by_slot = true;
  site.send.block_age = Duration::from_ms(1);
  return {.a = site, .b = site, .wire = {.loss = loss, .delay = Duration::from_ms(10)}};
}

inline sdr::SwapPolicy named(const cw_policy_ops* policy) { return sdr::named(choice_of(policy)); }

inline Result<void> order(Pair& pair, const cw_policy_ops* policy) {
  return pair.a->link().order_swap(0, CW_SOURCE, named(policy), pair.network().now());
}

/// Which the source orders.
inline void swap(Pair& pair, const cw_policy_ops* policy) {
  const auto ordered = order(pair, policy);
  ASSERT_TRUE(ordered) << ordered.error().sentence;
}

inline const sdr::SwapEnd& source_end(Pair& pair) { return *pair.a->link().swap(0, CW_SOURCE); }
inline const sdr::SwapEnd& sink_end(Pair& pair) { return *pair.b->link().swap(0, CW_SINK); }

/// Both ends are at rest, and neither has anything of the one before.
inline bool is_over(Pair& pair) { return source_end(pair).is_idle() && sink_end(pair).is_idle(); }
inline bool is_done(const sdr::SwapEnd& end) {
  return end.report().fate == sdr::SwapReport::Fate::Done;
}
inline bool has_swapped(Pair& pair) {
  // The end that has not ordered it does not report a change to the same.
  const bool is_undone = sink_end(pair).report().fate == sdr::SwapReport::Fate::NotDone;
  return is_over(pair) && is_done(source_end(pair)) && !is_undone &&
         !pair.a->send_stream().seat().is_swapping() && !pair.b->recv_stream().seat().is_swapping();
}

inline void expect_under(Pair& pair, const cw_policy_ops* policy) {
  const std::string name = policy->name;
  EXPECT_EQ(pair.a->send_stream().seat().current().table().name, name);
  EXPECT_EQ(pair.b->recv_stream().seat().current().table().name, name);
}

/// selective_repeat, which loses its wits where a test says so.
struct Greedy {
  static inline bool is_mad = false;
  static const cw_policy_ops* policy() {
    static const cw_policy_ops ops = [] {
      cw_policy_ops greedy = *cw_policy_selective_repeat();
      greedy.name = "greedy";
      greedy.link = [](cw_policy* self, const cw_fact_link* fact, int64_t now, cw_out* out) {
        cw_policy_selective_repeat()->link(self, fact, now, out);
        if (is_mad) out->more = 1;
      };
      greedy.resume = [](cw_policy* self, int64_t now, cw_out* out) {
        cw_policy_selective_repeat()->resume(self, now, out);
        if (is_mad) out->more = 1;
      };
      return greedy;
    }();
    return &ops;
  }
};

inline uint64_t epochs(Site& site) { return count(site, Counter::epochs); }

}  // namespace cw::sim
