#include "control/model/program/report.h"

#include <algorithm>
#include <string_view>

#include "control/units/text.h"

namespace cw::model {
namespace {

const char* name_of(Aim aim) {
  switch (aim) {
    case Aim::Tail:
      return "tail";
    case Aim::Mean:
      return "mean";
    case Aim::Goodput:
      return "goodput";
  }
  return "";
}

Json params_of(const Plan& plan) {
  Json params = Json::object();
  for (uint32_t i = 0; i < plan.policy->param_count; ++i) {
    const cw_param& each = plan.policy->params[i];
    const bool is_text = each.type == CW_PARAM_CHOICE || each.type == CW_PARAM_DURATION;
    const double value = plan.params[i];
    params[each.name] = is_text                     ? Json(param_value_text(each, value))
                        : each.type == CW_PARAM_INT ? Json(static_cast<int64_t>(value))
                                                    : Json(value);
  }
  return params;
}

Json json_of(const RingTimes& ring, const Ring& of) {
  return {{"datacenters", of.datacenters},
          {"rounds", of.rounds()},
          {"mean_ms", ring.mean_ms},
          {"p50_ms", ring.p50_ms},
          {"p99_ms", ring.p99_ms},
          {"p999_ms", ring.p999_ms},
          {"mean_at_least_ms", ring.bound_ms}};
}

Json json_of(const Prediction& it) {
  Json json = {{"policy", it.plan.policy->name},
               {"params", params_of(it.plan)},
               {"mean_ms", it.mean_ms},
               {"p50_ms", it.p50_ms},
               {"p99_ms", it.p99_ms},
               {"p999_ms", it.p999_ms},
               {"p999_low_ms", it.p999_low_ms},
               {"p999_high_ms", it.p999_high_ms},
               {"fallback_probability", it.fallback_probability},
               {"goodput_gbps", it.goodput_gbps},
               {"overhead", it.overhead},
               {"is_lower_bound", it.is_bound}};
  if (!it.notes.empty()) json["notes"] = Json(it.notes);
  return json;
}

Json best_of(const Answer& answer, const Options& options) {
  if (!answer.best) return {};
  const Prediction& best = answer.predictions[answer.best->index];
  return {{"policy", best.plan.policy->name}, {"params", params_of(best.plan)},
          {"aim", name_of(options.wish.aim)}, {"mean_ms", best.mean_ms},
          {"p999_ms", best.p999_ms},          {"goodput_gbps", best.goodput_gbps},
          {"overhead", best.overhead},        {"why", answer.best->why}};
}

std::string aimed_text(const Prediction& it, Aim aim) {
  const double value = aim == Aim::Goodput ? it.goodput_gbps
                       : aim == Aim::Mean  ? it.mean_ms
                                           : it.p999_ms;
  return text_of("%.5g%s", value, it.is_bound ? "+" : "");
}

/// Names above columns, as wide as the widest text in each.
std::string columns(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths(rows.front().size(), 0);
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      text += row[i];
      if (i + 1 < row.size()) text.append(widths[i] - row[i].size() + 2, ' ');
    }
    text += "\n";
  }
  return text;
}

std::string rings_text(const Answer& answer, const Options& options) {
  std::vector<std::vector<std::string>> rows{
      {text_of("around %u datacenters, ms", options.ring->datacenters), "mean", "p99", "p99.9",
       "mean at least"}};
  for (size_t i = 0; i < answer.rings.size(); ++i) {
    const RingTimes& it = answer.rings[i];
    rows.push_back({plan_short_text(answer.predictions[i].plan), text_of("%.3f", it.mean_ms),
                    text_of("%.3f", it.p99_ms), text_of("%.3f", it.p999_ms),
                    text_of("%.3f", it.bound_ms)});
  }
  return "\n" + columns(rows);
}

}  // namespace

Json json_of(const Answer& answer, const Options& options) {
  Json results = Json::array(), refused = Json::array();
  for (size_t i = 0; i < answer.predictions.size(); ++i) {
    Json result = json_of(answer.predictions[i]);
    if (options.ring) result["ring"] = json_of(answer.rings[i], *options.ring);
    results.push_back(std::move(result));
  }
  for (const Refusal& each : answer.refusals) {
    refused.push_back(
        {{"policy", each.plan.policy->name}, {"params", params_of(each.plan)}, {"why", each.why}});
  }
  return {{"fallback_law", options.fallback == FallbackLaw::Paper ? "paper" : "keeping"},
          {"results", std::move(results)},
          {"refused", std::move(refused)},
          {"best", best_of(answer, options)}};
}

std::string table_of(const Answer& answer, const Options& options) {
  std::vector<std::vector<std::string>> rows{
      {"policy, ms", "mean", "p50", "p99", "p99.9", "fallback", "Gbit/s", "bytes per byte"}};
  std::string below;
  for (const Prediction& it : answer.predictions) {
    const char* bound = it.is_bound ? "+" : "";
    rows.push_back({plan_short_text(it.plan), text_of("%.3f%s", it.mean_ms, bound),
                    text_of("%.3f%s", it.p50_ms, bound), text_of("%.3f%s", it.p99_ms, bound),
                    text_of("%.3f%s", it.p999_ms, bound), text_of("%.3g", it.fallback_probability),
                    text_of("%.4g", it.goodput_gbps), text_of("%.4g", it.overhead)});
    below += plan_text(it.plan) + "\n";
    for (const std::string& note : it.notes) below += "  " + note + "\n";
  }
  for (const Refusal& each : answer.refusals) {
    below += plan_text(each.plan) + "\n  " + each.why + "\n";
  }
  if (answer.predictions.empty()) return below;
  std::string text = columns(rows);
  if (options.ring) text += rings_text(answer, options);
  text += "\n" + below;
  if (answer.best) text += "\nbest: " + answer.best->why + "\n";
  if (!answer.best) text += "\nbest: none keeps to the limit\n";
  return text;
}

Json json_of(std::span<const SweepPoint> points, const Options& options) {
  Json over = Json::array(), rows = Json::array();
  for (const Sweep& sweep : options.sweeps) {
    over.push_back({{"name", sweep.name}, {"values", Json(sweep.values)}});
  }
  for (const SweepPoint& point : points) {
    Json row = {{"at", Json(point.at)}};
    if (point.answer) row.update(json_of(*point.answer, options));
    if (!point.answer) row["why_not"] = point.answer.error().sentence;
    rows.push_back(std::move(row));
  }
  return {{"sweeps", std::move(over)}, {"points", std::move(rows)}};
}

std::string table_of(std::span<const SweepPoint> points, const Options& options) {
  std::vector<std::vector<std::string>> rows(1);
  for (const Sweep& sweep : options.sweeps) rows[0].push_back(sweep.name);
  rows[0].insert(rows[0].end(), {"best", options.wish.aim == Aim::Goodput ? "Gbit/s" : "ms"});
  for (const Plan& plan : options.plans) rows[0].push_back(plan_short_text(plan));
  for (const SweepPoint& point : points) {
    std::vector<std::string> row;
    row.reserve(rows[0].size());
    for (size_t i = 0; i < point.at.size(); ++i) {
      row.push_back(options.sweeps[i].value_text(point.at[i]));
    }
    std::vector<std::string> cells(options.plans.size(), "-");
    std::string best = "-", value = "-";
    if (point.answer) {
      const Answer& answer = *point.answer;
      if (answer.best) {
        const Prediction& winner = answer.predictions[answer.best->index];
        best = plan_short_text(winner.plan);
        value = aimed_text(winner, options.wish.aim);
      }
      for (const Prediction& it : answer.predictions) {
        cells[it.index] = aimed_text(it, options.wish.aim);
      }
    }
    row.insert(row.end(), {best, value});
    row.insert(row.end(), cells.begin(), cells.end());
    rows.push_back(std::move(row));
  }
  return columns(rows) + "\n+: a lower bound; -: no law holds\n";
}

}  // namespace cw::model
