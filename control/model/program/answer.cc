#include "control/model/program/answer.h"

#include <utility>

namespace cw::model {

Result<Answer> answer(const Inputs& inputs, const std::vector<Plan>& plans,
                      const Options& options) {
  auto scene = scene_of(inputs);
  if (!scene) return std::unexpected(scene.error());
  Answer result{.scene = std::move(*scene)};
  for (const Plan& plan : plans) {
    auto prediction = predict(result.scene, plan, options.fallback);
    if (prediction) {
      prediction->index = static_cast<size_t>(&plan - plans.data());
      result.predictions.push_back(std::move(*prediction));
    } else {
      result.refusals.push_back({plan, prediction.error().sentence});
    }
  }
  if (options.ring) {
    for (const Prediction& each : result.predictions) {
      result.rings.push_back(ring_times(each.law, *options.ring));
    }
  }
  result.best = choose(result.scene, result.predictions, options.wish);
  return result;
}

std::vector<SweepPoint> answer_sweeps(const Options& options,
                                      const std::function<void(size_t, size_t)>& on_progress) {
  std::vector<std::vector<double>> rows{{}};
  for (const Sweep& sweep : options.sweeps) {
    std::vector<std::vector<double>> longer;
    for (const std::vector<double>& row : rows) {
      for (const double value : sweep.values) {
        longer.push_back(row);
        longer.back().push_back(value);
      }
    }
    rows = std::move(longer);
  }
  std::vector<SweepPoint> points;
  for (const std::vector<double>& row : rows) {
    Inputs inputs = options.inputs;
    std::vector<Plan> plans = options.plans;
    for (size_t i = 0; i < row.size(); ++i) options.sweeps[i].apply(row[i], inputs, plans);
    points.push_back({row, answer(inputs, plans, options)});
    on_progress(points.size(), rows.size());
  }
  return points;
}

}  // namespace cw::model
