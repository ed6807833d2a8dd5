#include "control/model/law/tries.h"

#include <algorithm>
#include <cmath>

namespace cw::model {
namespace {

constexpr int tries_max = 64;
constexpr double certain = 1e-12;
constexpr double nothing = 1e-300;  // has a logarithm
/// Of a longer message so much is followed. Each half more adds to the logarithms what the second
/// half of that did: what the end of a message does to what is sent again is there but once.
constexpr uint64_t followed_most = 8192, followed_most_of_many = 2048;
constexpr double seen_least = 1e-17;  // what is less likely is left out

std::vector<double> independent(double loss, uint64_t slots) {
  std::vector<double> whole;
  for (int i = 1; i <= tries_max; ++i) {
    const double log = double(slots) * std::log1p(-std::pow(loss, i));
    whole.push_back(std::max(std::exp(log), nothing));
    if (-std::expm1(log) < certain) break;
  }
  return whole;
}

/// One slot of all that have one left: `lost` counts what was lost so far of this try.
void step(const LossChain& chain, Missing& lost) {
  Missing next(lost.size() + 1, States(chain.state_count(), 0));
  for (size_t count = 0; count < lost.size(); ++count) {
    const States& from = lost[count];
    if (sum_of(from) < seen_least) continue;
    for (const LossChain::Move& move : chain.moves()) {
      next[count + (move.is_lost ? 1 : 0)][move.to] += from[move.from] * move.chance;
    }
  }
  while (next.size() > 1 && sum_of(next.back()) < seen_least) next.pop_back();
  lost = std::move(next);
}

std::vector<double> follow(const LossChain& chain, uint64_t slots, const Between& between) {
  std::vector<double> whole;
  Missing missing = try_again(chain, all_missing(chain, slots), 0);
  for (;;) {
    const double done = std::clamp(sum_of(missing[0]), nothing, 1.0);
    whole.push_back(done);
    if (missing.size() == 1 || 1 - done < certain || whole.size() == tries_max) return whole;
    missing = try_again(chain, missing, whole.size() == 1 ? between.found : between.again);
  }
}

}  // namespace

Missing all_missing(const LossChain& chain, uint64_t slots) {
  Missing missing(slots + 1);
  for (States& each : missing) each.assign(chain.state_count(), 0);
  missing[slots] = chain.begin();
  return missing;
}

Missing try_again(const LossChain& chain, const Missing& missing, uint64_t between) {
  Missing lost(1, States(chain.state_count(), 0));
  for (size_t left = missing.size() - 1; left > 0; --left) {
    const States begin = chain.after(missing[left], between);
    for (size_t s = 0; s < begin.size(); ++s) lost[0][s] += begin[s];
    step(chain, lost);
  }
  for (size_t s = 0; s < lost[0].size(); ++s) lost[0][s] += missing[0][s];
  return lost;
}

std::vector<double> whole_after(const LossChain& chain, uint64_t slots, const Between& between) {
  if (chain.is_independent()) return independent(chain.loss(), slots);
  const uint64_t most = chain.state_count() > 2 ? followed_most_of_many : followed_most;
  if (slots <= most) return follow(chain, slots, between);
  std::vector<double> whole = follow(chain, most, between);
  const std::vector<double> half = follow(chain, most / 2, between);
  const double more = double(slots - most) / (double(most) / 2);
  for (size_t i = 0; i < whole.size(); ++i) {
    const double per_half = std::log(whole[i]) - (i < half.size() ? std::log(half[i]) : 0);
    whole[i] = std::max(whole[i] * std::exp(std::min(per_half, 0.0) * more), nothing);
  }
  return whole;
}

}  // namespace cw::model
