// Which policy, and with which parameters, is best for a scene, and why.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "control/model/predict.h"

namespace cw::model {

enum class Aim : uint8_t {
  Tail,     ///< least p99.9
  Mean,     ///< least mean
  Goodput,  ///< most bytes per second of messages
};

struct Wish {
  Aim aim = Aim::Tail;
  double overhead_max = std::numeric_limits<double>::infinity();  ///< bytes per byte
};

struct Choice {
  size_t index = 0;  ///< of the predictions
  std::string why;   ///< a sentence
};

/// What is aimed at: less is better.
double cost_of(const Prediction& prediction, Aim aim);

/// The best of those that keep to the limit; of those within 1 % of it, one that sends less,
/// and else the first.
/// Nothing where none does.
std::optional<Choice> choose(const Scene& scene, std::span<const Prediction> predictions,
                             const Wish& wish);

/// What is compared when nobody names a policy: both kinds of selective repeat, go-back-N, and
/// codes of several strengths.
std::vector<Plan> usual_plans();

}  // namespace cw::model
