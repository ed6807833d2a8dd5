#include "control/model/law/law.h"

#include <algorithm>
#include <cmath>

#include "dataplane/base/assert.h"

namespace cw::model {
namespace {

constexpr double step_least = 1e-15;  // a smaller step is one with the next

}  // namespace

Law Law::of_steps(std::vector<LawStep> steps) {
  CW_ASSERT(!steps.empty());
  Law law;
  double last = 0;
  for (const LawStep& step : steps) {
    if (step.share - last < step_least) continue;
    if (!law.steps_.empty() && step.ms <= law.steps_.back().ms) {
      law.steps_.back().share = step.share;
    } else {
      law.steps_.push_back(step);
    }
    last = step.share;
  }
  if (law.steps_.empty()) law.steps_.push_back(steps.back());
  law.steps_.back().share = 1;
  return law;
}

Law Law::of_outcomes(std::vector<Outcome> outcomes) {
  std::ranges::sort(outcomes, {}, &Outcome::ms);
  double all = 0, so_far = 0;
  for (const Outcome& each : outcomes) all += each.share;
  std::vector<LawStep> steps;
  steps.reserve(outcomes.size());
  for (const Outcome& each : outcomes) steps.push_back({each.ms, (so_far += each.share) / all});
  return of_steps(std::move(steps));
}

double Law::mean_ms() const {
  double mean = 0, before = 0;
  for (const LawStep& step : steps_) {
    mean += (step.share - before) * step.ms;
    before = step.share;
  }
  return mean;
}

double Law::deviation_ms() const {
  const double mean = mean_ms();
  double squares = 0, before = 0;
  for (const LawStep& step : steps_) {
    squares += (step.share - before) * (step.ms - mean) * (step.ms - mean);
    before = step.share;
  }
  return std::sqrt(squares);
}

double Law::quantile_ms(double q) const {
  const auto found = std::ranges::lower_bound(steps_, q, {}, &LawStep::share);
  return found == steps_.end() ? steps_.back().ms : found->ms;
}

double Law::share_at(double ms) const {
  const auto after = std::ranges::upper_bound(steps_, ms, {}, &LawStep::ms);
  return after == steps_.begin() ? 0 : std::prev(after)->share;
}

Law both_of(const Law& one, const Law& other) {
  std::vector<LawStep> steps;
  steps.reserve(one.steps().size() + other.steps().size());
  auto a = one.steps().begin(), b = other.steps().begin();
  double share_a = 0, share_b = 0;
  while (a != one.steps().end() || b != other.steps().end()) {
    const bool is_a = b == other.steps().end() || (a != one.steps().end() && a->ms <= b->ms);
    const double ms = is_a ? a->ms : b->ms;
    (is_a ? share_a : share_b) = is_a ? (a++)->share : (b++)->share;
    steps.push_back({ms, share_a * share_b});
  }
  return Law::of_steps(std::move(steps));
}

}  // namespace cw::model
