// What the program answers: every policy's prediction for a scene, and the best.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "control/model/program/options.h"

namespace cw::model {

struct Refusal {
  Plan plan;
  std::string why;
};

struct Answer {
  Scene scene;
  std::vector<Prediction> predictions;
  std::vector<RingTimes> rings;  ///< of each prediction, where a ring is asked for
  std::vector<Refusal> refusals;
  std::optional<Choice> best;
};

/// Errors: the inputs make no scene.
Result<Answer> answer(const Inputs& inputs, const std::vector<Plan>& plans, const Options& options);

/// One point of a sweep.
struct SweepPoint {
  std::vector<double> at;  ///< a value of each sweep
  Result<Answer> answer;
};

/// In rows of the last sweep. `on_progress` is told how many are done.
std::vector<SweepPoint> answer_sweeps(const Options& options,
                                      const std::function<void(size_t, size_t)>& on_progress);

}  // namespace cw::model
