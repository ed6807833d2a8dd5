#include "control/daemon/live/told_params.h"

#include <algorithm>
#include <sstream>

#include "control/config/policy_keys.h"
#include "dataplane/sdr/seat/policy_offer.h"

namespace cw::daemon {
namespace {

std::string told_param_text(const cw_policy_ops& policy, const std::string& pair) {
  const auto told = sdr::read_param(policy, pair);
  if (!told) return pair;
  const cw_param& param = policy.params[told->index];
  std::string text = config::param_text(param, told->value);
  std::erase(text, ' ');
  return param.name + ("=" + text);
}

}  // namespace

std::string told_params_text(const cw_policy_ops& policy, const std::string& told) {
  std::istringstream pairs(told);
  std::string text;
  for (std::string pair; pairs >> pair;) {
    text += (text.empty() ? "" : " ") + told_param_text(policy, pair);
  }
  return text;
}

}  // namespace cw::daemon
