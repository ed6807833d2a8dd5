#include "plugins/check/table_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plugins/check/table_words.h"
#include "plugins/params.h"

namespace cw::plugins {
namespace {

Complaint object_to_choices(const cw_param& param) {
  if (!is_bounded(param.choices, limits::sentence_bytes_max)) return "has no list of choices";
  const std::vector<std::string_view> words = choices_of(param);
  for (auto word = words.begin(); word != words.end(); ++word) {
    if (!is_snake_case(*word)) return "has the choice \"" + std::string(*word) + "\"";
    if (std::find(words.begin(), word, *word) != word) {
      return "has the choice \"" + std::string(*word) + "\" twice";
    }
  }
  if (param.min == 0 && param.max == static_cast<double>(words.size() - 1)) return std::nullopt;
  return "has " + std::to_string(words.size()) + " choices, but not the range from 0 to " +
         std::to_string(words.size() - 1);
}

Complaint object_to_whole_numbers(const cw_param& param) {
  for (const double value : {param.initial, param.min, param.max}) {
    if (value != std::trunc(value)) return "has a default or bound that is not a whole number";
    if (std::abs(value) > limits::whole_number_max) return "has a bound beyond 2^53";
  }
  return std::nullopt;
}

Complaint object_to_range(const cw_param& param) {
  const bool is_finite =
      std::isfinite(param.min) && std::isfinite(param.max) && std::isfinite(param.initial);
  if (!is_finite || param.min > param.max) return "has no range";
  if (param.initial < param.min || param.initial > param.max) {
    return "has a default outside its range, " + accepted(param);
  }
  return std::nullopt;
}

/// The sentence lacks its subject, the parameter.
Complaint object_to_param(const cw_param& param) {
  if (!is_bounded(param.unit, limits::name_bytes_max)) return "has no unit, not even an empty one";
  if (!is_sentence(param.sentence)) return "has no sentence that says what it does";
  if (param.type > CW_PARAM_CHOICE) return "has the type " + std::to_string(param.type);
  const bool is_choice = param.type == CW_PARAM_CHOICE;
  if (!is_choice && param.choices != nullptr) return "has choices, but another type";
  if (param.type == CW_PARAM_DURATION && std::strcmp(param.unit, "ns") != 0) {
    return "is a duration, whose unit must be \"ns\"";
  }
  if (is_choice) {
    if (Complaint complaint = object_to_choices(param)) return complaint;
  }
  if (Complaint complaint = object_to_range(param)) return complaint;
  return param.type == CW_PARAM_REAL ? std::nullopt : object_to_whole_numbers(param);
}

Complaint object_to_params(const cw_policy_ops& table) {
  if (table.param_count > limits::params_max) {
    return "declares " + std::to_string(table.param_count) + " parameters where " +
           std::to_string(limits::params_max) + " are the most";
  }
  if (table.param_count > 0 && table.params == nullptr) return "declares parameters without a list";
  const std::span params(table.params, table.param_count);
  for (size_t i = 0; i < params.size(); ++i) {
    if (!is_name(params[i].name)) {
      return "has a parameter " + std::to_string(i) + " whose name is not snake_case of at most " +
             std::to_string(limits::name_bytes_max) + " letters";
    }
    const std::string subject = "has a parameter \"" + std::string(params[i].name) + "\" that ";
    if (Complaint complaint = object_to_param(params[i])) return subject + *complaint;
    const auto has_this_name = [&](const cw_param& other) {
      return std::strcmp(other.name, params[i].name) == 0;
    };
    if (std::ranges::any_of(params.first(i), has_this_name)) return subject + "is declared twice";
  }
  return std::nullopt;
}

Complaint object_to_table(const cw_policy_ops& table) {
  if (Complaint complaint = object_to_beginning(table)) return complaint;
  if (table.create == nullptr) return "has no create function";
  if (table.destroy == nullptr) return "has no destroy function";
  if (table.message_state_bytes > limits::message_state_bytes_max) {
    return "asks for " + std::to_string(table.message_state_bytes) + " bytes per message where " +
           std::to_string(limits::message_state_bytes_max) + " are the most";
  }
  return object_to_params(table);
}

}  // namespace

Result<cw_policy_ops> adopt_table(const cw_policy_ops& foreign) {
  return adopt(foreign, CW_POLICY_ABI, offsetof(cw_policy_ops, opened), "policy.h");
}

Result<void> check_table(const cw_policy_ops& table) {
  if (Complaint complaint = object_to_table(table)) return failure(*complaint);
  return {};
}

}  // namespace cw::plugins
