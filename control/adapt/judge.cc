#include "control/adapt/judge.h"

#include <algorithm>
#include <cmath>

namespace cw::adapt {
namespace {

// Steps of a logarithm to the base of two.
constexpr double rate_steps = 16, rtt_steps = 16, loss_steps = 8, burst_steps = 4;
constexpr double loss_min = 1e-9, loss_max = 0.45;
constexpr int no_loss = -1'000'000;

int step_of(double value, double steps) {
  return static_cast<int>(std::lround(std::log2(value) * steps));
}
double value_of(int step, double steps) { return std::exp2(step / steps); }

}  // namespace

Judge::Step Judge::step_of(const Line& line) {
  const double loss = std::min(line.loss, loss_max);
  return {.rate = adapt::step_of(double(line.rate.bps()), rate_steps),
          .rtt = adapt::step_of(double(line.rtt.ns()), rtt_steps),
          .loss = loss < loss_min ? no_loss : adapt::step_of(loss, loss_steps),
          .burst = loss < loss_min ? 0 : adapt::step_of(std::max(line.burst, 1.0), burst_steps)};
}

Line Judge::line_of(const Step& step) {
  return {.rate = Rate::from_bps(static_cast<uint64_t>(value_of(step.rate, rate_steps))),
          .rtt = Duration::from_ns(static_cast<int64_t>(value_of(step.rtt, rtt_steps))),
          .loss = step.loss == no_loss ? 0 : std::min(value_of(step.loss, loss_steps), loss_max),
          .burst = value_of(step.burst, burst_steps)};
}

const Verdicts& Judge::at(const Line& line) {
  const Step step = step_of(line);
  const auto known = std::ranges::find(kept_, step, &Kept::step);
  if (known != kept_.end()) {
    std::rotate(known, known + 1, kept_.end());
    return kept_.back().verdicts;
  }
  if (kept_.size() == kept_max) kept_.erase(kept_.begin());
  return kept_.emplace_back(Kept{step, judge(line_of(step))}).verdicts;
}

Verdicts Judge::judge(const Line& line) const {
  model::Link link{.bandwidth = line.rate, .rtt = line.rtt, .loss = {.independent = line.loss}};
  if (line.burst > 1 && line.loss > 0) {
    link.loss.gilbert_elliott = GilbertElliott::from_burst(line.burst, line.loss);
  }
  const auto scene = model::make_scene(link, {.size = transfer_, .chunk = slot_, .payload = slot_});
  Verdicts verdicts(candidates_.size());
  if (!scene) return verdicts;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    if (auto found = model::predict(*scene, candidates_[i])) verdicts[i] = std::move(*found);
  }
  return verdicts;
}

}  // namespace cw::adapt
