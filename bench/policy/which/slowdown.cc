#include "bench/policy/which/slowdown.h"

#include <cmath>
#include <utility>

#include "bench/policy/which/scenes.h"
#include "control/model/policy/repeat.h"
#include "control/units/text.h"
#include "dataplane/base/assert.h"

namespace cw::which {
namespace {

constexpr double gbps = 400, rtt_ms = 25;
constexpr uint64_t packet = 4096, packets_of_chunk = 16;
constexpr int swept_sizes = 14, swept_per_decade = 12, swept_decades = 4;
constexpr double swept_size_least = 128 << 10, swept_loss_least = 1e-6;

model::Scene scene_of(const Reading& reading, double size_bytes, double loss) {
  model::Link link{.bandwidth = Rate::from_bps(static_cast<uint64_t>(gbps * 1e9)),
                   .rtt = Duration::from_ms(int64_t{25})};
  link.loss.independent = unit_loss(reading, loss);
  const uint64_t chunk = packet * (reading.is_by_packet ? 1 : packets_of_chunk);
  auto scene = model::make_scene(
      link, {.size = Bytes(static_cast<uint64_t>(size_bytes)), .chunk = Bytes(chunk)});
  CW_ASSERT(scene);
  return std::move(*scene);
}

model::Prediction predict(const model::Scene& scene, const std::string& plan,
                          model::FallbackLaw law) {
  const auto parsed = model::parse_plan(plan);
  CW_ASSERT(parsed);
  auto prediction = model::predict(scene, *parsed, law);
  CW_ASSERT(prediction);
  return std::move(*prediction);
}

Times times_of(const model::Law& law) {
  constexpr double step_least = 1.1, late = 1e-3, doubt = 0.25;
  return {.mean_ms = law.mean_ms(),
          .tail_ms = law.quantile_ms(1 - late),
          .is_at_step = law.quantile_ms(1 - late * (1 - doubt)) >=
                        law.quantile_ms(1 - late * (1 + doubt)) * step_least};
}

/// The paper's has nothing that says what a message is, which could be lost as well.
Times repeat_times(const Reading& reading, const model::Scene& scene) {
  if (reading.law == model::FallbackLaw::Keeping) {
    return times_of(
        predict(scene, text_of("selective_repeat:detect=rto,alpha=%g", reading.alpha), reading.law)
            .law);
  }
  const double rto_ms = (1 + reading.alpha) * scene.rtt_ms;
  return times_of(model::repeat_law({.slots = scene.slots,
                                     .slot_ms = scene.slot_ms,
                                     .rtt_ms = scene.rtt_ms,
                                     .found_ms = rto_ms,
                                     .again_ms = rto_ms},
                                    scene.loss));
}

std::vector<std::string> codes_of(const Reading& reading) {
  // A chunk is a row's slot of its own; packets are coded in rows as the policy has them.
  const std::string rows = reading.is_by_packet ? "" : ",rows=1";
  if (!reading.is_any_code) return {"erasure:k=32,m=8,m_max=8" + rows};
  std::vector<std::string> codes;
  for (const model::Plan& plan : model::usual_plans()) {
    if (is_code(plan)) codes.push_back(model::plan_short_text(plan) + rows);
  }
  return codes;
}

std::string name_of(const std::string& code) {
  const auto plan = model::parse_plan(code.substr(0, code.find(",rows=1")));
  CW_ASSERT(plan);
  return look_of(*plan).name;
}

}  // namespace

double unit_loss(const Reading& reading, double loss) {
  if (reading.is_by_packet || !reading.is_loss_of_packets) return loss;
  return model::chunk_loss(loss, packets_of_chunk);
}

Slowdown slowdown_of(const Reading& reading, double size_bytes, double loss, bool is_tail) {
  const model::Scene scene = scene_of(reading, size_bytes, loss);
  Slowdown found{.size_bytes = size_bytes, .loss = loss, .repeat = repeat_times(reading, scene)};
  if (reading.is_over_lossless) {
    const double ms = double(scene.slots) * scene.slot_ms + rtt_ms;
    found.code = {.mean_ms = ms, .tail_ms = ms};
    return found;
  }
  double least = 1e300;
  for (const std::string& code : codes_of(reading)) {
    const model::Prediction it = predict(scene, code, reading.law);
    const double cost = is_tail ? it.p999_ms : it.mean_ms;
    if (cost >= least) continue;
    least = cost;
    found.code = times_of(it.law);
    found.code_name = name_of(code);
    found.fallback = it.fallback_probability;
  }
  return found;
}

Slowdown largest(const Reading& reading, bool is_tail) {
  Slowdown found;
  double most = 0;
  for (int i = 0; i < swept_sizes; ++i) {
    const double size = std::ldexp(swept_size_least, i);
    if (reading.size_bytes > 0 && size != reading.size_bytes) continue;
    for (int j = 0; j <= swept_decades * swept_per_decade; ++j) {
      const double loss = swept_loss_least * std::pow(10, double(j) / swept_per_decade);
      const Slowdown it = slowdown_of(reading, size, loss, is_tail);
      if (is_tail && (it.repeat.is_at_step || it.code.is_at_step)) continue;
      const double ratio = is_tail ? it.tail_ratio() : it.mean_ratio();
      if (ratio <= most) continue;
      most = ratio;
      found = it;
    }
  }
  return found;
}

}  // namespace cw::which
