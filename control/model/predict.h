// What a policy makes of a scene. Pure; below a millisecond where losses are independent, some tens
// at most where they are Gilbert-Elliott's, so that who runs a link may ask whenever that changes.
// With a cloud profile up to a second.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "control/model/law/law.h"
#include "control/model/scene.h"
#include "dataplane/base/result.h"
#include "dataplane/policy.h"

namespace cw::model {

/// What a fallback of a code sends again.
enum class FallbackLaw : uint8_t {
  Keeping,  ///< what a row still lacks: as our policies do it
  Paper,    ///< all chunks of the row, and all repair is waited for
};

struct Plan {
  const cw_policy_ops* policy = nullptr;
  std::vector<double> params;  ///< one per parameter that the policy declares
};

/// From "NAME" or "NAME:PARAM=VALUE,PARAM=VALUE"; what is not named has its declared default.
/// Errors: all mistakes in it, one sentence a line.
Result<Plan> parse_plan(const std::string& text);
/// Whether a law is known for it, in some scenes at least.
bool has_law(const cw_policy_ops& policy);
/// The value of a parameter; 0: it has none of that name.
double param_of(const Plan& plan, std::string_view name);
/// A parameter's value as parse_plan() takes it.
std::string param_value_text(const cw_param& param, double value);
/// "selective_repeat:detect=rto,alpha=2,...", all of them.
std::string plan_text(const Plan& plan);
/// Only those that differ from their defaults.
std::string plan_short_text(const Plan& plan);

struct Prediction {
  Plan plan;
  size_t index = 0;  ///< for whoever asks for several: of the plan
  Law law;
  double mean_ms = 0, p50_ms = 0, p99_ms = 0, p999_ms = 0;
  /// p99.9, if a quarter fewer or more messages were late than the law says. A law has steps, as
  /// waiting for a resend has: where p99.9 is at the edge of one, so little moves it by all of it.
  double p999_low_ms = 0, p999_high_ms = 0;
  double fallback_probability = 0;  ///< that a code alone does not do; 0 where there is none
  double goodput_gbps = 0;
  double overhead = 1;  ///< bytes on the wire per byte of the message, headers left out
  /// It takes at least so long. `notes` says why.
  bool is_bound = false;
  std::vector<std::string> notes;
};

/// Errors: why no law is known to hold there.
Result<Prediction> predict(const Scene& scene, const Plan& plan,
                           FallbackLaw fallback = FallbackLaw::Keeping);

}  // namespace cw::model
