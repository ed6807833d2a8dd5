#include "control/model/policy/announce.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace cw::model {
namespace {

/// SPEC C-32, C-36: every quarter of a round trip four times, then half as often every four times,
/// but once per round trip, or per 20 ms where that is longer.
double wait_ms_after(unsigned said, double rtt_ms) {
  constexpr double longest_of_short_ms = 20;
  const double factor = std::exp2(std::min(said / 4, 20u));
  return std::min(rtt_ms / 4 * factor, std::max(rtt_ms, longest_of_short_ms));
}

}  // namespace

double lost_behind(const LossChain& chain, uint64_t slots) {
  // Whoever has forgotten is asked no further.
  constexpr uint64_t remembered = 4096;
  States kept = chain.begin();
  for (uint64_t i = 0; i < std::min(slots, remembered); ++i) {
    kept = chain.after_one(kept, false);
    const double all = sum_of(kept);
    for (double& each : kept) each /= all;
  }
  return sum_of(chain.after_one(kept, true));
}

Law announce_law(const Announcing& it) {
  constexpr double unheard_least = 1e-10;
  constexpr unsigned sayings_max = 200;
  std::vector<LawStep> steps;
  double at_ms = it.sent_ms + it.rtt_ms, unheard = it.lost;
  for (unsigned said = 0; said < sayings_max; ++said) {
    steps.push_back({at_ms, std::pow(1 - unheard, it.envelopes)});
    if (unheard < unheard_least) break;
    at_ms += wait_ms_after(said, it.rtt_ms);
    unheard *= it.loss;
  }
  return Law::of_steps(std::move(steps));
}

}  // namespace cw::model
