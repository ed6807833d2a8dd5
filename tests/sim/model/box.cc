#include "tests/sim/model/box.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "control/config/policy_keys.h"
#include "control/sim/scenario.h"
#include "control/sim/simulation.h"
#include "control/units/text.h"
#include "dataplane/base/assert.h"

namespace cw {
namespace {

double draw_log(double low, double high, Prng& prng) {
  return low * std::pow(high / low, prng.uniform());
}

/// A block of it is no larger than a message.
std::string code_text(const char* codec, uint64_t slots, Prng& prng) {
  constexpr std::array sizes{8u, 16u, 32u};
  uint64_t k = sizes[prng.below(sizes.size())], rows = 1u << prng.below(4);
  while (k * rows > slots) (rows > 1 ? rows : k) /= 2;
  const auto m = static_cast<unsigned>(std::max<uint64_t>(1, k / (prng.below(2) == 0 ? 4 : 8)));
  return text_of("erasure:codec=%s,k=%u,m=%u,m_max=%u,rows=%u", codec, static_cast<unsigned>(k), m,
                 m, static_cast<unsigned>(rows));
}

std::string policy_text(BoxPolicy policy, uint64_t slots, Prng& prng) {
  switch (policy) {
    case BoxPolicy::Timeout:
      return text_of("selective_repeat:detect=rto,alpha=%.2f", 1 + 2 * prng.uniform());
    case BoxPolicy::Asking:
      return "selective_repeat:detect=nack";
    case BoxPolicy::GoBackN:
      return text_of("go_back_n:alpha=%.2f", 1 + 2 * prng.uniform());
    case BoxPolicy::Mds:
      return code_text("rs", slots, prng);
    default:
      return code_text("xor", slots, prng);
  }
}

std::string loss_text(const BoxPoint& point) {
  if (point.burst == 0) return text_of("there = { loss = %.9g }\n", point.loss);
  return text_of("there = { gilbert_elliott = { mean_burst = %.9g, mean_loss = %.9g } }\n",
                 point.burst, point.loss);
}

std::string policy_table(const model::Plan& plan) {
  std::string text = std::string("[policy]\nname = '") + plan.policy->name + "'\n";
  for (uint32_t i = 0; i < plan.policy->param_count; ++i) {
    const cw_param& each = plan.policy->params[i];
    const std::string value = config::param_text(each, plan.params[i]);
    const bool is_word = each.type == CW_PARAM_CHOICE || each.type == CW_PARAM_DURATION;
    text += std::string(each.name) + " = " + (is_word ? "'" + value + "'" : value) + "\n";
  }
  return text;
}

}  // namespace

std::string BoxPoint::text() const {
  return text_of("%s, %llu slots, %.3g Gbit/s, %.3g ms, loss %.3g, bursts of %.3g", policy.c_str(),
                 static_cast<unsigned long long>(slots), gbps, rtt_ms, loss, burst);
}

BoxPoint draw_point(BoxPolicy policy, bool is_bursty, Prng& prng) {
  BoxPoint point;
  point.slots = static_cast<uint64_t>(std::lround(draw_log(1, 2048, prng)));
  point.policy = policy_text(policy, point.slots, prng);
  point.gbps = draw_log(10, 100, prng);
  point.rtt_ms = draw_log(5, 50, prng);
  point.loss = draw_log(1e-5, 1e-2, prng);
  if (is_bursty) point.burst = 2 + 6 * prng.uniform();
  return point;
}

Result<model::Prediction> predict_point(const BoxPoint& point) {
  model::Link link{.bandwidth = Rate::from_bps(static_cast<uint64_t>(point.gbps * 1e9)),
                   .rtt = Duration::from_ns(static_cast<int64_t>(point.rtt_ms * 1e6))};
  link.loss.independent = point.loss;
  if (point.burst > 0) {
    link.loss.gilbert_elliott = GilbertElliott::from_burst(point.burst, point.loss);
  }
  const auto scene = model::make_scene(link, {.size = Bytes(point.slots * 4096)});
  const auto plan = model::parse_plan(point.policy);
  CW_ASSERT(scene && plan);
  return model::predict(*scene, *plan);
}

Report run_point(const BoxPoint& point, uint64_t messages, uint64_t seed) {
  const auto plan = model::parse_plan(point.policy);
  CW_ASSERT(plan);
  const auto bytes = static_cast<unsigned long long>(point.slots * 4096);
  const std::string text =
      text_of("[network]\ndelay = '%.0f ns'\n", point.rtt_ms * 5e5) + loss_text(point) +
      text_of("[pacer]\nrate = '%.0f bit/s'\noverhead_burst = '1 GiB'\n", point.gbps * 1e9) +
      policy_table(*plan) +
      text_of(
          "[workload]\nwarm_up = 8\nin_flight = %llu\nposted = %llu\nmessages = %llu\n"
          "size_min = '%llu B'\nsize_max = '%llu B'\n",
          static_cast<unsigned long long>(point.in_flight),
          static_cast<unsigned long long>(point.in_flight + 3),
          static_cast<unsigned long long>(messages), bytes, bytes) +
      text_of("[run]\nturn = '%.0f ns'\nverify = false\nlimit = '2400 h'\nseed = %llu\n",
              point.turn_us > 0 ? point.turn_us * 1e3 : point.rtt_ms * 1e6 / 2000,
              static_cast<unsigned long long>(seed));
  const auto scenario = read_scenario("point", text);
  if (!scenario) std::fprintf(stderr, "%s\n%s\n", text.c_str(), scenario.error().sentence.c_str());
  CW_ASSERT(scenario);
  const auto simulation = Simulation::make(*scenario);
  CW_ASSERT(simulation);
  return (*simulation)->run([](uint64_t) {});
}

}  // namespace cw
