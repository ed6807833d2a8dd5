#include "control/model/program/draw.h"

#include <algorithm>
#include <utility>

#include "control/chart/svg_chart.h"
#include "control/chart/svg_map.h"
#include "control/units/text.h"

namespace cw::model {
namespace {

constexpr size_t curves_max = 6, names_max = 12;

std::string title_of(const Options& options) {
  std::string title;
  for (const Input& input : all_inputs()) {
    const double value = options.inputs.*(input.value);
    const bool is_swept = std::ranges::any_of(
        options.sweeps, [&](const Sweep& sweep) { return sweep.name == input.name; });
    const std::string_view name = input.name;
    const bool says_something = name == "bandwidth" || name == "rtt" || name == "size" ||
                                name == "loss" || (name == "chunk" && value > 0);
    if (is_swept || !says_something) continue;
    title += (title.empty() ? "" : ", ") + std::string(name) + " " + input.text(value);
  }
  return title;
}

ChartPanel panel_of(std::span<const SweepPoint> points, const Options& options, const char* label,
                    double Prediction::* value) {
  ChartPanel panel{.x_label = options.sweeps[0].name, .y_label = label, .curves = {}};
  for (size_t i = 0; i < options.plans.size(); ++i) {
    Curve curve{.name = plan_short_text(options.plans[i]), .points = {}};
    for (const SweepPoint& point : points) {
      if (!point.answer) continue;
      for (const Prediction& it : point.answer->predictions) {
        if (it.index == i) curve.points.push_back({point.at[0], it.*value});
      }
    }
    if (!curve.points.empty()) panel.curves.push_back(std::move(curve));
  }
  return panel;
}

Result<std::string> curves(std::span<const SweepPoint> points, const Options& options) {
  const bool is_goodput = options.wish.aim == Aim::Goodput;
  const ChartPanel panels[] = {
      panel_of(points, options, "p99.9, ms", &Prediction::p999_ms),
      is_goodput ? panel_of(points, options, "goodput, Gbit/s", &Prediction::goodput_gbps)
                 : panel_of(points, options, "mean, ms", &Prediction::mean_ms)};
  if (panels[0].curves.empty()) return failure("no law holds anywhere in the sweep");
  if (panels[0].curves.size() > curves_max) {
    return failure(
        text_of("a picture has %zu curves at most: name policies by --policy", curves_max));
  }
  return svg_of(title_of(options), panels);
}

Result<std::string> map(std::span<const SweepPoint> points, const Options& options) {
  const Sweep& x = options.sweeps[0];
  const Sweep& y = options.sweeps[1];
  const char* aims[] = {"least p99.9", "least mean", "most goodput"};
  ChartMap map{.title = std::string(aims[size_t(options.wish.aim)]) + ": " + title_of(options),
               .x_label = x.name,
               .y_label = y.name,
               .nothing = "no law",
               .panels = {{.cells = std::vector<std::vector<int>>(
                               y.values.size(), std::vector<int>(x.values.size(), -1))}}};
  MapPanel& panel = map.panels.front();
  for (const double value : x.values) panel.x_values.push_back(x.value_text(value));
  for (const double value : y.values) panel.y_values.push_back(y.value_text(value));
  for (size_t i = 0; i < points.size(); ++i) {
    const auto& answer = points[i].answer;
    if (!answer || !answer->best) continue;
    const Prediction& winner = answer->predictions[answer->best->index];
    const std::string name = plan_short_text(options.plans[winner.index]) +
                             (winner.is_bound ? ", by a lower bound only" : "");
    auto found = std::ranges::find(map.names, name, &MapName::text);
    if (found == map.names.end()) found = map.names.insert(map.names.end(), {.text = name});
    panel.cells[i % y.values.size()][i / y.values.size()] = int(found - map.names.begin());
  }
  if (map.names.empty()) return failure("no law holds anywhere in the sweep");
  if (map.names.size() > names_max) {
    return failure(text_of("a map has %zu winners at most: name fewer policies", names_max));
  }
  return svg_of(map);
}

}  // namespace

Result<std::string> draw(std::span<const SweepPoint> points, const Options& options) {
  return options.sweeps.size() == 1 ? curves(points, options) : map(points, options);
}

}  // namespace cw::model
