// Values of a policy's declared parameters, from the text a person writes to the numbers that an
// instance is made with.
//
//   CW_PARAM_INT       "1024"
//   CW_PARAM_REAL      "0.5"
//   CW_PARAM_DURATION  "25 ms", "80us", "1.5 s", "0"     ns, us, ms, s; rounded to nanoseconds
//   CW_PARAM_CHOICE    "nack"
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/policy.h"

namespace cw::plugins {

/// A parameter's name and its value as written.
using Setting = std::pair<std::string, std::string>;

/// From "NAME=VALUE". Errors: a sentence that says so.
Result<Setting> parse_setting(std::string_view text);

/// One value per declared parameter, in order; the default where no setting names it. The table
/// must have passed check_table().
///
/// Errors: unknown and repeated names, values of the wrong type or out of range. All of them: one
/// sentence a line.
Result<std::vector<double>> parse_params(const cw_policy_ops& table,
                                         std::span<const Setting> settings);

/// What may be written: "rto or nack", "0.5 to 32", "64 to 1024 bytes", "0 ns to 1 s".
std::string accepted(const cw_param& param);

/// The words of a choice, in order; one empty word when there are none. They live as long as the
/// parameter does.
std::vector<std::string_view> choices_of(const cw_param& param);

}  // namespace cw::plugins
