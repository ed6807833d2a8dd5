#include "plugins/params.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>

#include "plugins/nearest.h"

namespace cw::plugins {
namespace {

struct Unit {
  std::string_view name;
  double ns;
};
constexpr std::array<Unit, 4> units = {{{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}}};

/// The shortest text that reads back as the same number.
std::string number(double value) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return {text, end};
}

/// In the largest unit that needs no fraction.
std::string duration(double ns) {
  if (ns == 0) return "0 ns";
  const auto is_whole = [ns](const Unit& unit) { return std::fmod(ns, unit.ns) == 0; };
  const auto unit = std::ranges::find_if(units, is_whole);
  return number(ns / unit->ns) + " " + std::string(unit->name);
}

/// The number that `text` begins with; takes it off the text.
template <class Number>
std::optional<Number> take_number(std::string_view& text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// What is wrong with a value, without its subject: "is not a number: write 1 to 5".
using Value = std::expected<double, std::string>;

Value wrong(const cw_param& param, const std::string& complaint) {
  return std::unexpected(complaint + ": write " + accepted(param));
}

Value parse_whole(const cw_param& param, std::string_view text) {
  const auto value = take_number<int64_t>(text);
  if (!value || !text.empty()) return wrong(param, "is not a whole number");
  return static_cast<double>(*value);
}

Value parse_real(const cw_param& param, std::string_view text) {
  const auto value = take_number<double>(text);
  if (!value || !text.empty() || !std::isfinite(*value)) return wrong(param, "is not a number");
  return *value;
}

Value parse_duration(const cw_param& param, std::string_view text) {
  const auto value = take_number<double>(text);
  if (!value || !std::isfinite(*value)) return wrong(param, "is not a duration");
  const std::string_view name = trimmed(text);
  if (name.empty() && *value == 0) return 0.0;
  if (name.empty()) return wrong(param, "has no unit (ns, us, ms or s)");
  const auto unit = std::ranges::find(units, name, &Unit::name);
  if (unit == units.end()) return wrong(param, "has no unit of ns, us, ms or s");
  return std::round(*value * unit->ns);
}

Value parse_choice(const cw_param& param, std::string_view text) {
  const std::vector<std::string_view> words = choices_of(param);
  const auto word = std::ranges::find(words, text);
  if (word == words.end()) return std::unexpected("is not a choice: " + advice(text, words));
  return static_cast<double>(word - words.begin());
}

Value parse_value(const cw_param& param, std::string_view text) {
  switch (param.type) {
    case CW_PARAM_INT:
      return parse_whole(param, text);
    case CW_PARAM_REAL:
      return parse_real(param, text);
    case CW_PARAM_DURATION:
      return parse_duration(param, text);
    default:
      return parse_choice(param, text);
  }
}

Value parse_within_range(const cw_param& param, std::string_view text) {
  const Value value = parse_value(param, trimmed(text));
  if (!value || (*value >= param.min && *value <= param.max)) return value;
  return wrong(param, "is out of range");
}

std::string unknown(const cw_policy_ops& table, const std::string& key) {
  const std::string begin = std::string(table.name) + " has no parameter \"" + key + "\": ";
  if (table.param_count == 0) return begin + "it has none";
  std::vector<std::string_view> names;
  names.reserve(table.param_count);
  for (uint32_t i = 0; i < table.param_count; ++i) names.push_back(table.params[i].name);
  return begin + advice(key, names);
}

/// Collects values, and everything that is wrong with them.
class Parser {
 public:
  explicit Parser(const cw_policy_ops& table)
      : table_(table), params_(table.params, table.param_count), is_given_(params_.size()) {
    for (const cw_param& param : params_) values_.push_back(param.initial);
  }

  void take(const Setting& setting) {
    const auto& [key, text] = setting;
    const auto param = std::ranges::find(params_, key, &cw_param::name);
    if (param == params_.end()) return complain(unknown(table_, key));
    const std::string subject = std::string(table_.name) + ": " + key;
    const auto index = static_cast<size_t>(param - params_.begin());
    if (is_given_[index]) return complain(subject + " is given twice");
    is_given_[index] = true;
    const Value value = parse_within_range(*param, text);
    if (!value) return complain(subject + " = \"" + text + "\" " + value.error());
    values_[index] = *value;
  }

  Result<std::vector<double>> result() {
    if (!complaints_.empty()) return failure(complaints_);
    return std::move(values_);
  }

 private:
  void complain(const std::string& sentence) {
    complaints_ += (complaints_.empty() ? "" : "\n") + sentence;
  }

  const cw_policy_ops& table_;
  std::span<const cw_param> params_;
  std::vector<bool> is_given_;
  std::vector<double> values_;
  std::string complaints_;
};

}  // namespace

Result<Setting> parse_setting(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == 0 || equals == text.npos) {
    return failure("\"" + std::string(text) + "\" is not of the form NAME=VALUE");
  }
  return Setting(text.substr(0, equals), text.substr(equals + 1));
}

Result<std::vector<double>> parse_params(const cw_policy_ops& table,
                                         std::span<const Setting> settings) {
  Parser parser(table);
  for (const Setting& setting : settings) parser.take(setting);
  return parser.result();
}

std::string accepted(const cw_param& param) {
  if (param.type == CW_PARAM_CHOICE) return listed(choices_of(param));
  if (param.type == CW_PARAM_DURATION) return duration(param.min) + " to " + duration(param.max);
  const std::string unit = *param.unit == '\0' ? "" : " " + std::string(param.unit);
  return number(param.min) + " to " + number(param.max) + unit;
}

std::vector<std::string_view> choices_of(const cw_param& param) {
  std::vector<std::string_view> words;
  std::string_view rest = param.choices;
  for (size_t bar; (bar = rest.find('|')) != std::string_view::npos; rest.remove_prefix(bar + 1)) {
    words.push_back(rest.substr(0, bar));
  }
  words.push_back(rest);
  return words;
}

}  // namespace cw::plugins
