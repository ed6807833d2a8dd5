#include "control/model/predict.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "control/config/policy_keys.h"
#include "control/model/policy/announce.h"
#include "control/model/policy/coding.h"
#include "control/model/policy/go_back_n.h"
#include "control/model/policy/repeat.h"
#include "control/units/text.h"
#include "plugins/params.h"
#include "policies/parts/coding/redundancy.h"
#include "policies/policies.h"

namespace cw::model {
namespace {

/// Packets of control per round trip, towards the receiver, while a message is open: counted in
/// the simulator. They move a chain of losses on between two tries.
constexpr double control_per_rtt = 2.5, control_per_rtt_later = 1.4;
/// How much later than a round trip a resend is taken for lost (policies/parts/timing.h, margin).
constexpr double margin_rtts = 1.0 / 32;
/// One row in a hundred thousand may need a resend (policies/parts/coding/coded_source.cc).
constexpr double row_failures_wanted = 1e-5;
constexpr double negligible = 0.01;

/// Where slots were lost what is sent again is later than what is said again, so `lost` is meant of
/// messages without.
Law announced(const Scene& scene, const Law& law, double lost, uint32_t envelopes) {
  return both_of(law, announce_law({.rtt_ms = scene.rtt_ms,
                                    .sent_ms = double(scene.slots) * scene.slot_ms,
                                    .lost = lost,
                                    .loss = scene.loss.loss(),
                                    .envelopes = envelopes}));
}

Result<Prediction> selective_repeat(const Scene& scene, const Plan& plan) {
  const bool asks = param_of(plan, "detect") >= 0.5;
  const double rtt = scene.rtt_ms, budget = std::max(0.0, param_of(plan, "reorder_budget")) * 1e-6;
  RepeatTimes times{.slots = scene.slots, .slot_ms = scene.slot_ms, .rtt_ms = rtt};
  times.found_ms = asks ? rtt + budget : (1 + param_of(plan, "alpha")) * rtt;
  times.again_ms = asks ? rtt * (1 + margin_rtts) + budget : times.found_ms;
  times.between = {.found = static_cast<uint64_t>(control_per_rtt * times.found_ms / rtt),
                   .again = static_cast<uint64_t>(control_per_rtt_later * times.found_ms / rtt)};
  Prediction result{.law = announced(scene, repeat_law(times, scene.loss),
                                     lost_behind(scene.loss, scene.slots), 1),
                    .overhead = 1 / (1 - scene.loss.loss())};
  if (times.is_bound()) {
    result.is_bound = true;
    result.notes.push_back(text_of(
        "a lower bound: the message takes %.4g ms to leave, longer than the %.4g ms until a loss "
        "is found, so what is sent again waits behind first slots or they behind it",
        double(scene.slots) * scene.slot_ms, times.found_ms));
  }
  return result;
}

Result<Prediction> go_back_n(const Scene& scene, const Plan& plan) {
  const GoBackNTimes times{.slots = scene.slots,
                           .slot_ms = scene.slot_ms,
                           .rtt_ms = scene.rtt_ms,
                           .alpha = param_of(plan, "alpha")};
  if (!times.holds()) {
    return failure(
        text_of("go_back_n: no law: the message takes %.4g ms to leave, and it is asked "
                "for again while first slots still do; up to 7/8 of the round trip holds",
                double(scene.slots) * scene.slot_ms));
  }
  if (scene.loss.state_count() > 2) {
    return failure(
        "go_back_n: no law under a cloud profile; independent and Gilbert-Elliott loss "
        "have one");
  }
  if (scene.transfer.in_flight > 1) {
    return failure(
        "go_back_n: no law with several messages in flight: each loss sends all of them "
        "again; --in-flight 1 has one");
  }
  GoBackN found = go_back_n_law(times, scene.loss);
  return Prediction{.law = announced(scene, found.law, lost_behind(scene.loss, scene.slots), 1),
                    .overhead = found.sent};
}

Result<Prediction> coded_by_paper(const Scene& scene, const Plan& plan, const Code& code) {
  if (!scene.loss.is_independent()) {
    return failure(
        "erasure: the paper's law knows independent losses only; --fallback-law keeping "
        "knows bursts");
  }
  const CodingTimes times{.slots = scene.slots,
                          .slot_ms = scene.slot_ms,
                          .rtt_ms = scene.rtt_ms,
                          .fallback = param_of(plan, "fallback"),
                          .again_ms = scene.rtt_ms};
  Coding found = paper_law(times, code, scene.loss.loss());
  Prediction result{
      .law = std::move(found.law), .fallback_probability = found.fallback, .overhead = found.sent};
  return result;
}

/// More repair than `m` where more is lost, as the policy does it.
uint32_t shards_of(const Scene& scene, const Plan& plan, const Code& code) {
  const double most = code.is_xor ? code.m : std::max<double>(code.m, param_of(plan, "m_max"));
  return policy::shards_for(scene.loss.loss(), scene.loss.burst(), static_cast<uint16_t>(code.rows),
                            static_cast<uint8_t>(code.k), static_cast<uint8_t>(code.m),
                            static_cast<uint8_t>(most), row_failures_wanted);
}

Result<Prediction> erasure(const Scene& scene, const Plan& plan, FallbackLaw fallback) {
  Code code{.is_xor = param_of(plan, "codec") >= 0.5,
            .k = static_cast<uint32_t>(param_of(plan, "k")),
            .m = static_cast<uint32_t>(param_of(plan, "m")),
            .rows = static_cast<uint32_t>(param_of(plan, "rows"))};
  if (fallback == FallbackLaw::Paper) return coded_by_paper(scene, plan, code);
  const double m_max = std::max<double>(code.m, param_of(plan, "m_max")), rtt = scene.rtt_ms;
  const uint32_t named = code.m;
  code.m = shards_of(scene, plan, code);
  CodingTimes times{.slots = scene.slots,
                    .slot_ms = scene.slot_ms,
                    .rtt_ms = rtt,
                    .fallback = param_of(plan, "fallback"),
                    .block_ms = (code.k + m_max) * code.rows * scene.slot_ms,
                    .again_ms = rtt * (1 + margin_rtts),
                    .between = 1};
  const double apart = scene.loss.burst() - code.rows;
  if (apart >= 1) times.spacing_ms = std::min(apart * scene.slot_ms, rtt / 16 / (code.m + 1));
  Coding found = keeping_law(times, code, scene.loss);
  // Blocks are told as they are cut: those of the first turn, and the rest with the end.
  const uint32_t envelopes = scene.slots > uint64_t{code.k} * code.rows ? 2 : 1;
  Prediction result{.law = announced(scene, found.law, scene.loss.loss(), envelopes),
                    .fallback_probability = found.fallback,
                    .overhead = found.sent};
  if (code.m != named) {
    result.notes.push_back(
        text_of("m rises from %u to %u at this loss, as m_max allows", named, code.m));
  }
  if (times.is_hasty() && scene.loss.loss() > 0) {
    result.notes.push_back(
        text_of("the message takes %.4g ms to leave and its fallback begins after %.4g ms: what is "
                "lost is sent again beside its repair, in vain; fallback=%.2g would not",
                double(scene.slots) * scene.slot_ms, times.fallback * rtt + times.block_ms,
                std::ceil(double(scene.slots) * scene.slot_ms / rtt * 10) / 10));
  }
  return result;
}

using PolicyLaw = Result<Prediction> (*)(const Scene& scene, const Plan& plan,
                                         FallbackLaw fallback);

/// Null: none is known.
PolicyLaw find_law(std::string_view name) {
  if (name == "selective_repeat") {
    return [](const Scene& scene, const Plan& plan, FallbackLaw) {
      return selective_repeat(scene, plan);
    };
  }
  if (name == "go_back_n") {
    return [](const Scene& scene, const Plan& plan, FallbackLaw) { return go_back_n(scene, plan); };
  }
  return name == "erasure" ? erasure : nullptr;
}

Result<Prediction> law_of(const Scene& scene, const Plan& plan, FallbackLaw fallback) {
  const std::string name = plan.policy->name;
  if (const PolicyLaw law = find_law(name); law != nullptr) return law(scene, plan, fallback);
  if (name == "passthrough") {
    return failure("passthrough: no law: it repairs nothing, so a message with a loss never ends");
  }
  return failure(name + ": no law is known; ask causeway-sim");
}

/// Other messages leave on the same line.
Result<void> share_line(const Scene& scene, Prediction& result) {
  const uint32_t in_flight = scene.transfer.in_flight;
  const double busy_ms = double(scene.slots) * scene.slot_ms * result.overhead;
  if (in_flight * busy_ms >= result.mean_ms) {
    return failure(
        text_of("%s: no law: %u messages in flight take %.4g ms to leave, all of the "
                "%.4g ms that one takes: the line is full, and they wait for each other",
                result.plan.policy->name, in_flight, in_flight * busy_ms, result.mean_ms));
  }
  if ((in_flight - 1) * busy_ms <= negligible * result.mean_ms) return {};
  result.is_bound = true;
  result.notes.push_back(
      "a lower bound: messages in flight wait for each other's slots now and then");
  return {};
}

void note_edge(Prediction& it) {
  constexpr double late = 1e-3, doubt = 0.25, step_least = 1.1;
  it.p999_low_ms = it.law.quantile_ms(1 - late * (1 + doubt));
  it.p999_high_ms = it.law.quantile_ms(1 - late * (1 - doubt));
  if (it.p999_high_ms < it.p999_low_ms * step_least) return;
  it.notes.push_back(text_of(
      "p99.9 stands at a step: %.4g ms or %.4g ms, as a quarter fewer or more messages are late",
      it.p999_low_ms, it.p999_high_ms));
}

std::string params_text(const Plan& plan, bool is_short) {
  std::string text;
  for (uint32_t i = 0; i < plan.policy->param_count; ++i) {
    const cw_param& each = plan.policy->params[i];
    if (is_short && plan.params[i] == each.initial) continue;
    std::string value = param_value_text(each, plan.params[i]);
    std::erase(value, ' ');
    text += (text.empty() ? ":" : ",") + std::string(each.name) + "=" + value;
  }
  return plan.policy->name + text;
}

}  // namespace

Result<Plan> parse_plan(const std::string& text) {
  const size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  Plan plan;
  std::string known;
  for (const cw_policy_ops* each : policy::for_streams()) {
    if (name == each->name) plan.policy = each;
    known += (known.empty() ? "" : ", ") + std::string(each->name);
  }
  if (plan.policy == nullptr) {
    return failure("policy \"" + name + "\" is not known; " + known + " are");
  }
  std::vector<plugins::Setting> settings;
  std::string mistakes;
  for (size_t at = colon; at < text.size();) {
    const size_t end = std::min(text.find(',', at + 1), text.size());
    const auto setting = plugins::parse_setting(text.substr(at + 1, end - at - 1));
    if (setting) settings.push_back(*setting);
    if (!setting) mistakes += (mistakes.empty() ? "" : "\n") + setting.error().sentence;
    at = end;
  }
  auto params = plugins::parse_params(*plan.policy, settings);
  if (!params) mistakes += (mistakes.empty() ? "" : "\n") + params.error().sentence;
  if (!mistakes.empty()) return failure(mistakes);
  plan.params = std::move(*params);
  return plan;
}

bool has_law(const cw_policy_ops& policy) { return find_law(policy.name) != nullptr; }

double param_of(const Plan& plan, std::string_view name) {
  for (uint32_t i = 0; i < plan.policy->param_count; ++i) {
    if (plan.policy->params[i].name == name) return plan.params[i];
  }
  return 0;
}

std::string param_value_text(const cw_param& param, double value) {
  if (param.type != CW_PARAM_DURATION) return config::param_text(param, value);
  constexpr std::pair<double, const char*> units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}};
  for (const auto& [ns, name] : units) {
    if (value != 0 && std::fmod(value, ns) == 0) return text_of("%.17g %s", value / ns, name);
  }
  return text_of("%.17g ns", value);
}

std::string plan_text(const Plan& plan) { return params_text(plan, false); }
std::string plan_short_text(const Plan& plan) { return params_text(plan, true); }

Result<Prediction> predict(const Scene& scene, const Plan& plan, FallbackLaw fallback) {
  auto result = law_of(scene, plan, fallback);
  if (!result) return result;
  result->plan = plan;
  const Law& law = result->law;
  result->mean_ms = law.mean_ms();
  result->p50_ms = law.quantile_ms(0.5);
  result->p99_ms = law.quantile_ms(0.99);
  result->p999_ms = law.quantile_ms(0.999);
  note_edge(*result);
  if (scene.transfer.in_flight > 1) {
    if (const auto shared = share_line(scene, *result); !shared) {
      return std::unexpected(shared.error());
    }
  }
  result->goodput_gbps =
      double(scene.transfer.size.count()) * 8e-6 * scene.transfer.in_flight / result->mean_ms;
  return result;
}

}  // namespace cw::model
