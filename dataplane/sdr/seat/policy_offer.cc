#include "dataplane/sdr/seat/policy_offer.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace cw::sdr {
namespace {

/// The shortest that reads back as the same.
std::string text_of(double value) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

const PolicyOffer* find(std::span<const PolicyOffer> row, const std::string& name) {
  const auto found = std::ranges::find(row, name, &PolicyOffer::name);
  return found == row.end() ? nullptr : &*found;
}

}  // namespace

std::optional<ToldParam> read_param(const cw_policy_ops& policy, std::string_view pair) {
  const size_t equals = pair.find('=');
  if (equals == pair.npos) return std::nullopt;
  const std::string_view name = pair.substr(0, equals), text = pair.substr(equals + 1);
  const std::span<const cw_param> declared(policy.params, policy.param_count);
  const auto param = std::ranges::find(declared, name, [](const cw_param& p) { return p.name; });
  if (param == declared.end()) return std::nullopt;
  double value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  if (!is_number || !(value >= param->min && value <= param->max)) return std::nullopt;
  return ToldParam{static_cast<size_t>(param - declared.begin()), value};
}

std::string printable(std::string_view text, size_t bytes_max) {
  std::string result;
  for (const char c : text.substr(0, bytes_max)) result += c >= ' ' && c < 127 ? c : '?';
  return result;
}

PolicyOffer PolicyOffer::of(const PolicyChoice& policy) {
  PolicyOffer offer;
  offer.name = std::string(policy.ops->name) + "/" + std::to_string(policy.ops->wire_version);
  for (size_t i = 0; i < policy.params.size(); ++i) {
    if (i > 0) offer.params += ' ';
    offer.params += std::string(policy.ops->params[i].name) + "=" + text_of(policy.params[i]);
  }
  return offer;
}

std::optional<PolicyOffer> common_policy(std::span<const PolicyOffer> sender,
                                         std::span<const PolicyOffer> receiver) {
  if (sender.empty() || receiver.empty()) return std::nullopt;
  if (find(receiver, sender[0].name) != nullptr) return sender[0];
  if (find(sender, receiver[0].name) != nullptr) return receiver[0];
  for (const PolicyOffer& each : sender) {
    if (find(receiver, each.name) != nullptr) return each;
  }
  return std::nullopt;
}

Result<std::vector<double>> parse_params(const cw_policy_ops& policy, const std::string& text) {
  std::vector<double> params;
  params.reserve(policy.param_count);
  for (uint32_t i = 0; i < policy.param_count; ++i) params.push_back(policy.params[i].initial);
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view pair = std::string_view(text).substr(at, end - at);
    const auto told = read_param(policy, pair);
    if (!told) return failure("its parameter " + std::string(pair.substr(0, 40)) + " is none here");
    params[told->index] = told->value;
    at = end + 1;
  }
  return params;
}

}  // namespace cw::sdr
