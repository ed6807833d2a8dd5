#include "control/model/program/inputs.h"

#include <algorithm>
#include <cmath>

#include "control/config/quantity.h"
#include "control/units/text.h"
#include "control/units/units.h"
#include "plugins/params.h"
#include "policies/policies.h"

namespace cw::model {
namespace {

constexpr uint64_t values_max = 64, values_usual = 12;

template <class T, class Number>
Result<double> real_of(const Result<T>& value, Number&& number) {
  if (!value) return std::unexpected(value.error());
  return static_cast<double>(number(*value));
}
Result<double> parse_bandwidth(std::string_view text) {
  return real_of(parse_rate(text), [](Rate rate) { return rate.bps(); });
}
Result<double> parse_time(std::string_view text) {
  return real_of(parse_duration(text), [](Duration time) { return time.ns(); });
}
Result<double> parse_size(std::string_view text) {
  return real_of(parse_bytes(text), [](Bytes bytes) { return bytes.count(); });
}
Result<double> parse_number(std::string_view text) {
  return real_of(parse_count(text), [](uint64_t count) { return count; });
}

std::string rate_text(double value) { return config::quantity_text(config::Quantity::Rate, value); }
std::string time_text(double value) {
  return config::quantity_text(config::Quantity::Duration, value);
}
std::string size_text(double value) {
  return config::quantity_text(config::Quantity::Bytes, value);
}
std::string number_text(double value) { return text_of("%.4g", value); }

constexpr Input inputs[] = {
    {"bandwidth", &Inputs::bandwidth_bps, parse_bandwidth, rate_text, true},
    {"rtt", &Inputs::rtt_ns, parse_time, time_text, true},
    {"size", &Inputs::size_bytes, parse_size, size_text, true},
    {"chunk", &Inputs::chunk_bytes, parse_size, size_text, true},
    {"payload", &Inputs::payload_bytes, parse_size, size_text, true},
    {"loss", &Inputs::loss, parse_share, number_text, false},
    {"burst", &Inputs::burst, parse_real, number_text, false},
    {"in-flight", &Inputs::in_flight, parse_number, number_text, true},
};

std::string names_of_inputs() {
  std::string names;
  for (const Input& each : inputs) names += std::string(each.name) + ", ";
  return names + "or a parameter as in erasure.m";
}

LinkLoss loss_of(const Inputs& it) {
  LinkLoss loss{.independent = it.loss, .of_chunks = it.loss_kind == LossKind::OfChunks};
  if (it.loss_kind == LossKind::InBursts) {
    loss.gilbert_elliott = GilbertElliott::from_burst(std::max(1.0, it.burst), it.loss);
  }
  if (it.loss_kind == LossKind::OfProfile) {
    loss.bursts = BurstLoss{.loss = it.loss, .profile = it.profile};
  }
  return loss;
}

/// The policy and the number of its parameter; null where there is no such thing.
std::pair<const cw_policy_ops*, uint32_t> find_param(std::string_view name) {
  const size_t dot = name.find('.');
  for (const cw_policy_ops* policy : policy::for_streams()) {
    if (dot == name.npos || name.substr(0, dot) != policy->name) continue;
    for (uint32_t i = 0; i < policy->param_count; ++i) {
      if (name.substr(dot + 1) == policy->params[i].name) return {policy, i};
    }
  }
  return {nullptr, 0};
}

Result<double> parse_param(const cw_policy_ops& policy, uint32_t index, std::string_view text) {
  const plugins::Setting setting{policy.params[index].name, std::string(text)};
  return real_of(plugins::parse_params(policy, {&setting, 1}),
                 [index](const std::vector<double>& values) { return values[index]; });
}

bool is_whole(const std::string& name) {
  const Input* input = find_input(name);
  if (input != nullptr) return input->is_whole;
  const auto [policy, index] = find_param(name);
  return policy->params[index].type != CW_PARAM_REAL;
}

/// Near it and short to read: two digits, or, of a size, a power of two and three bits more.
double round_of(double value, bool is_size) {
  const double unit = is_size ? std::exp2(std::floor(std::log2(value)) - 3)
                              : std::pow(10, std::floor(std::log10(value)) - 1);
  return std::round(value / unit) * unit;
}

std::vector<double> between(double from, double to, uint64_t count, bool is_whole, bool is_size) {
  std::vector<double> values;
  for (uint64_t i = 0; i < count; ++i) {
    const bool is_end = i == 0 || i + 1 == count;
    double value = from * std::pow(to / from, double(i) / double(count - 1));
    value = is_end ? (i == 0 ? from : to) : round_of(value, is_size);
    if (is_whole) value = std::round(value);
    if (values.empty() || value > values.back()) values.push_back(value);
  }
  return values;
}

}  // namespace

Result<Scene> scene_of(const Inputs& it) {
  const auto bytes = [](double value) { return Bytes(static_cast<uint64_t>(value)); };
  const Link link{.bandwidth = Rate::from_bps(static_cast<uint64_t>(it.bandwidth_bps)),
                  .rtt = Duration::from_ns(static_cast<int64_t>(it.rtt_ns)),
                  .loss = loss_of(it)};
  const Transfer transfer{
      .size = bytes(it.size_bytes),
      .chunk = bytes(it.chunk_bytes > 0 ? it.chunk_bytes : it.payload_bytes),
      .payload = bytes(it.payload_bytes),
      .in_flight = static_cast<uint32_t>(std::clamp(it.in_flight, 0.0, 65536.0))};
  return make_scene(link, transfer);
}

std::span<const Input> all_inputs() { return inputs; }

const Input* find_input(std::string_view name) {
  const auto found = std::ranges::find_if(inputs, [&](const Input& it) { return it.name == name; });
  return found == std::end(inputs) ? nullptr : found;
}

std::string Sweep::value_text(double value) const {
  if (const Input* input = find_input(name)) return input->text(value);
  const auto [policy, index] = find_param(name);
  return param_value_text(policy->params[index], value);
}

void Sweep::apply(double value, Inputs& it, std::vector<Plan>& plans) const {
  if (const Input* input = find_input(name)) {
    it.*(input->value) = value;
    return;
  }
  const auto [policy, index] = find_param(name);
  for (Plan& plan : plans) {
    if (plan.policy == policy) plan.params[index] = value;
  }
}

Result<Sweep> parse_sweep(const std::string& text) {
  const size_t equals = text.find('='), dots = text.find("..");
  if (equals == text.npos || dots == text.npos || dots < equals) {
    return failure("\"" + text +
                   "\" is no sweep: NAME=FROM..TO or NAME=FROM..TO:COUNT is, as in "
                   "loss=1e-5..1e-2:10");
  }
  Sweep sweep{.name = text.substr(0, equals), .values = {}};
  const size_t colon = std::min(text.find(':', dots), text.size());
  const std::string ends[] = {text.substr(equals + 1, dots - equals - 1),
                              text.substr(dots + 2, colon - dots - 2)};
  const Input* input = find_input(sweep.name);
  const auto [policy, index] = find_param(sweep.name);
  if (input == nullptr && policy == nullptr) {
    return failure("\"" + sweep.name + "\" is no input: " + names_of_inputs() + " are");
  }
  double limits[2];
  for (size_t i = 0; i < 2; ++i) {
    const auto value = input ? input->parse(ends[i]) : parse_param(*policy, index, ends[i]);
    if (!value) return failure(sweep.name + ": " + value.error().sentence);
    limits[i] = *value;
  }
  const auto count = colon < text.size() ? parse_count(text.substr(colon + 1)) : values_usual;
  if (!count || *count < 2 || *count > values_max) {
    return failure(sweep.name + ": " + std::to_string(values_max) +
                   " values at most, two at least");
  }
  if (limits[0] <= 0 || limits[1] <= limits[0]) {
    return failure(sweep.name + ": from above zero to what is more; steps are of the logarithm");
  }
  const bool is_size = input != nullptr && input->text == size_text;
  sweep.values = between(limits[0], limits[1], *count, is_whole(sweep.name), is_size);
  return sweep;
}

}  // namespace cw::model
