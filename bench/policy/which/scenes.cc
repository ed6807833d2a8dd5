#include "bench/policy/which/scenes.h"

#include <cmath>
#include <string_view>
#include <utility>

#include "control/config/quantity.h"
#include "control/units/text.h"
#include "dataplane/base/assert.h"

namespace cw::which {
namespace {

/// Codes are the darker the more they repair: of rows of 32 blue, of rows of 8 violet, XOR green.
constexpr std::pair<const char*, Look> looks[] = {
    {"selective_repeat", {"selective repeat, nack", "#e69f00"}},
    {"selective_repeat:detect=rto", {"selective repeat, rto", "#d55e00"}},
    {"go_back_n", {"go-back-N", "#7a4a1e"}},
    {"erasure:m=2,m_max=2", {"code 32 + 2", "#c6e2f5"}},
    {"erasure:m=4,m_max=4", {"code 32 + 4", "#74b3e0"}},
    {"erasure:m_max=8", {"code 32 + 8", "#2174b5"}},
    {"erasure:m=16", {"code 32 + 16", "#08306b"}},
    {"erasure:k=8,m=2,m_max=2", {"code 8 + 2", "#b9a3d8"}},
    {"erasure:k=8,m=4,m_max=4", {"code 8 + 4", "#5b3a94"}},
    {"erasure:m=4,m_max=4,codec=xor", {"XOR 32 + 4", "#aedc9a"}},
    {"erasure:m_max=8,codec=xor", {"XOR 32 + 8", "#3d9a46"}},
};

model::Scene scene_of(const Scenery& it) {
  model::Link link{.bandwidth = Rate::from_bps(static_cast<uint64_t>(it.gbps * 1e9)),
                   .rtt = Duration::from_ns(static_cast<int64_t>(it.rtt_ms * 1e6))};
  link.loss.independent = it.loss;
  auto scene = model::make_scene(link, {.size = Bytes(static_cast<uint64_t>(it.size_bytes))});
  CW_ASSERT(scene);
  return std::move(*scene);
}

const model::Prediction* second_of(const Standing& standing) {
  const model::Prediction* found = nullptr;
  bool is_other = false;
  for (const model::Prediction& it : standing.all) {
    if (&it == standing.best || !standing.is_law(it)) continue;
    const bool other = it.plan.policy != standing.best->plan.policy;
    if (found != nullptr && is_other && !other) continue;
    if (found == nullptr || other > is_other || it.p999_ms < found->p999_ms) found = &it;
    is_other = is_other || other;
  }
  return found;
}

}  // namespace

Look look_of(const model::Plan& plan) {
  const std::string text = model::plan_short_text(plan);
  for (const auto& [name, look] : looks) {
    if (text == name) return look;
  }
  CW_ASSERT(!"a usual plan that has no look");
  return {};
}

bool is_code(const model::Plan& plan) { return std::string_view(plan.policy->name) == "erasure"; }

bool Standing::is_law(const model::Prediction& prediction) const {
  return !prediction.is_bound || (hit() < 1e-3 && prediction.p999_ms <= lossless_ms() * (1 + 1e-9));
}

double Standing::hit() const {
  return -std::expm1(double(scene.slots) * std::log1p(-scene.loss.loss()));
}

Standing stand(const Scenery& scenery) {
  Standing standing{.scene = scene_of(scenery)};
  const auto plans = model::usual_plans();
  for (const model::Plan& plan : plans) {
    auto prediction = model::predict(standing.scene, plan);
    if (!prediction) continue;
    prediction->index = static_cast<size_t>(&plan - plans.data());
    standing.all.push_back(std::move(*prediction));
  }
  const auto choice = model::choose(standing.scene, standing.all, {});
  CW_ASSERT(choice);
  standing.best = &standing.all[choice->index];
  standing.second = second_of(standing);
  for (const model::Prediction& it : standing.all) {
    const std::string text = model::plan_short_text(it.plan);
    if (text == "selective_repeat") standing.by_asking = &it;
    if (text == "selective_repeat:detect=rto") standing.by_timeout = &it;
  }
  return standing;
}

std::string size_text(double bytes) {
  return config::quantity_text(config::Quantity::Bytes, bytes);
}

std::string loss_text(double loss) {
  const int power = static_cast<int>(std::floor(std::log10(loss) + 1e-9));
  return text_of("%.2ge%d", loss / std::pow(10, power), power);
}

}  // namespace cw::which
