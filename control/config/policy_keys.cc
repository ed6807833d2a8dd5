#include "control/config/policy_keys.h"

#include <algorithm>

#include "plugins/params.h"

namespace cw::config {
namespace {

Type type_of(const cw_param& param) {
  switch (param.type) {
    case CW_PARAM_INT:
      return Type::Integer;
    case CW_PARAM_DURATION:
      return Type::Duration;
    case CW_PARAM_CHOICE:
      return Type::Choice;
    default:
      return Type::Real;
  }
}

void declare_param(Section& section, const cw_param& param, double& value) {
  const Type type = type_of(param);
  if (type == Type::Choice) {
    const std::vector<std::string_view> words = plugins::choices_of(param);
    section.choice(param.name, static_cast<size_t>(value), {words.begin(), words.end()},
                   param.sentence, [&value](size_t index) { value = static_cast<double>(index); });
    return;
  }
  section
      .add(Key(
          param.name, type, [&value](const Value& read) { value = read.number; },
          param_text(param, value), param.sentence))
      .range(param.min, param.max);
}

}  // namespace

std::vector<std::string> names_of(std::span<const cw_policy_ops* const> policies) {
  std::vector<std::string> names;
  names.reserve(policies.size());
  for (const cw_policy_ops* each : policies) names.emplace_back(each->name);
  return names;
}

void declare_policy(Section& section, std::span<const cw_policy_ops* const> known,
                    const cw_policy_ops*& policy, std::vector<double>& params) {
  const auto found = std::ranges::find(known, policy);
  const auto initial = static_cast<size_t>(found == known.end() ? 0 : found - known.begin());
  policy = known[initial];
  section.choice("name", initial, names_of(known), "Which policy.",
                 [&policy, known](size_t index) { policy = known[index]; });
  section.then([&policy, &params](Section& here) {
    params = default_params(*policy);
    if (here.is_wrong("name")) return here.leave_rest();
    declare_params(here, *policy, params);
  });
}

void declare_params(Section& section, const cw_policy_ops& policy, std::vector<double>& params) {
  for (size_t i = params.size(); i < policy.param_count; ++i) {
    params.push_back(policy.params[i].initial);
  }
  for (uint32_t i = 0; i < policy.param_count; ++i) {
    declare_param(section, policy.params[i], params[i]);
  }
}

std::vector<double> default_params(const cw_policy_ops& policy) {
  std::vector<double> params;
  for (const cw_param& param : std::span(policy.params, policy.param_count)) {
    params.push_back(param.initial);
  }
  return params;
}

std::string param_text(const cw_param& param, double value) {
  switch (type_of(param)) {
    case Type::Choice:
      return std::string(plugins::choices_of(param)[static_cast<size_t>(value)]);
    case Type::Duration:
      return quantity_text(Quantity::Duration, value);
    default:
      return real_text(value);
  }
}

std::string policies_text(std::span<const cw_policy_ops* const> known) {
  std::string text;
  for (const cw_policy_ops* policy : known) {
    text += std::string(policy->name) + " " + policy->version + "\n  " + policy->summary + "\n";
    for (const cw_param& param : std::span(policy->params, policy->param_count)) {
      std::string name = param.name;
      name.resize(std::max<size_t>(name.size(), 16), ' ');
      text.append("  ").append(name).append(" ").append(param.sentence);
      text += " (" + param_text(param, param.initial) + "; " + plugins::accepted(param) + ")\n";
    }
  }
  return text;
}

}  // namespace cw::config
