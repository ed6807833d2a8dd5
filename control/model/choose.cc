#include "control/model/choose.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "control/units/text.h"
#include "dataplane/base/assert.h"

namespace cw::model {
namespace {

constexpr double alike = 0.01;        // such a share of a cost decides nothing
constexpr double alike_sent = 0.001;  // nor of what is sent

std::string aim_text(const Prediction& it, Aim aim) {
  switch (aim) {
    case Aim::Tail:
      return text_of("p99.9 of %.4g ms", it.p999_ms);
    case Aim::Mean:
      return text_of("a mean of %.4g ms", it.mean_ms);
    case Aim::Goodput:
      return text_of("%.4g Gbit/s", it.goodput_gbps);
  }
  return {};
}

bool is_better(const Prediction& one, const Prediction& other, Aim aim) {
  const double a = cost_of(one, aim), b = cost_of(other, aim);
  if (std::abs(a - b) > alike * std::max(a, b)) return a < b;
  return one.overhead < other.overhead * (1 - alike_sent);
}

/// What the winner does about a loss.
std::string reason_of(const Scene& scene, const Prediction& it) {
  const double lossless_ms = double(scene.slots) * scene.slot_ms + scene.rtt_ms;
  const double hit = 1 - it.law.share_at(lossless_ms * (1 + 1e-9));
  if (std::string_view(it.plan.policy->name) != "erasure") {
    if (hit < 0.01) return text_of("only %.2g %% of the messages lose anything", hit * 100);
    return text_of("%.2g %% of the messages wait for something to be sent again", hit * 100);
  }
  return text_of("repair is there before anybody could ask, but for %.2g %% of the messages",
                 it.fallback_probability * 100);
}

/// The best of another policy, or of other parameters where there is no other; none: null.
const Prediction* second(std::span<const Prediction> all, const Prediction& best, Aim aim) {
  const Prediction* found = nullptr;
  const auto is_other = [&](const Prediction& it) { return it.plan.policy != best.plan.policy; };
  const bool has_other = std::ranges::any_of(all, is_other);
  for (const Prediction& it : all) {
    if (&it == &best || (has_other && !is_other(it))) continue;
    if (found == nullptr || is_better(it, *found, aim)) found = &it;
  }
  return found;
}

std::string why(const Scene& scene, std::span<const Prediction> all, const Prediction& best,
                const Wish& wish) {
  std::string text = plan_short_text(best.plan) + ": " + aim_text(best, wish.aim);
  if (const Prediction* other = second(all, best, wish.aim); other != nullptr) {
    text += " against " + aim_text(*other, wish.aim) + " of " + plan_short_text(other->plan);
  }
  text += "; " + reason_of(scene, best);
  text += text_of(", for %.4g bytes on the wire per byte", best.overhead);
  const Prediction* missed = nullptr;
  for (const Prediction& it : all) {
    if (it.overhead <= wish.overhead_max || !is_better(it, missed ? *missed : best, wish.aim)) {
      continue;
    }
    missed = &it;
  }
  if (missed != nullptr) {
    text += text_of(" (%s would have %s, but needs %.4g where %.4g are the limit)",
                    plan_short_text(missed->plan).c_str(), aim_text(*missed, wish.aim).c_str(),
                    missed->overhead, wish.overhead_max);
  }
  return text;
}

}  // namespace

double cost_of(const Prediction& prediction, Aim aim) {
  switch (aim) {
    case Aim::Tail:
      return prediction.p999_ms;
    case Aim::Mean:
      return prediction.mean_ms;
    case Aim::Goodput:
      return 1 / prediction.goodput_gbps;
  }
  return 0;
}

std::optional<Choice> choose(const Scene& scene, std::span<const Prediction> predictions,
                             const Wish& wish) {
  const Prediction* best = nullptr;
  for (const Prediction& it : predictions) {
    if (it.overhead > wish.overhead_max) continue;
    if (best == nullptr || is_better(it, *best, wish.aim)) best = &it;
  }
  if (best == nullptr) return std::nullopt;
  return Choice{.index = static_cast<size_t>(best - predictions.data()),
                .why = why(scene, predictions, *best, wish)};
}

std::vector<Plan> usual_plans() {
  std::vector<Plan> plans;
  for (const char* text :
       {"selective_repeat:detect=nack", "selective_repeat:detect=rto", "go_back_n",
        "erasure:k=32,m=2,m_max=2", "erasure:k=32,m=4,m_max=4", "erasure:k=32,m=8,m_max=8",
        "erasure:k=32,m=16,m_max=16", "erasure:k=8,m=2,m_max=2", "erasure:k=8,m=4,m_max=4",
        "erasure:codec=xor,k=32,m=4,m_max=4", "erasure:codec=xor,k=32,m=8,m_max=8"}) {
    auto plan = parse_plan(text);
    CW_ASSERT(plan);
    plans.push_back(std::move(*plan));
  }
  return plans;
}

}  // namespace cw::model
