// Small shapes of the policies that code, for tests that count slots.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "policies/policies.h"

namespace cw::policy_test {

inline constexpr uint32_t slots_max = 4096;
// 8 data slots and 2 repair slots per row, 4 rows: blocks of 32.
inline const std::map<std::string, double> small = {{"k", 8}, {"m", 2}, {"m_max", 2}, {"rows", 4}};
inline const std::map<std::string, double> small_layers = {{"r", 8}, {"c", 3}, {"set", 0}};

inline std::map<std::string, double> params_of(const cw_policy_ops* ops) {
  return ops == cw_policy_layered_interleave() ? small_layers : small;
}

}  // namespace cw::policy_test
