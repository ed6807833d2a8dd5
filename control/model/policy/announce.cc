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

Law announce_law(const LossChain& chain, double rtt_ms, double slot_ms, uint64_t slots,
                 uint32_t envelopes) {
  constexpr double seen_least = 1e-10;
  constexpr unsigned sayings_max = 200;
  std::vector<LawStep> steps;
  States lost = chain.begin();
  double left = double(slots), at_ms = 0;
  for (unsigned said = 0; said < sayings_max; ++said) {
    lost = chain.after_one(lost, true);
    const double unheard = sum_of(lost);
    steps.push_back({at_ms + rtt_ms, std::pow(1 - unheard, envelopes)});
    if (unheard < seen_least) break;
    const double wait_ms = wait_ms_after(said, rtt_ms);
    const double between = std::min(left, slot_ms > 0 ? wait_ms / slot_ms : left);
    lost = chain.after(lost, static_cast<uint64_t>(between));
    left -= between;
    at_ms += wait_ms;
  }
  return Law::of_steps(std::move(steps));
}

}  // namespace cw::model
