// Draws which policy holds where: p99 completion of 1 MiB messages over loss, and overhead beside
// it, one SVG per loss model, with the numbers in curves.csv. Prints, as Markdown, up to which loss
// each policy stays within 15 % of no loss.
//
//   policy_curves DIRECTORY [--messages N] [--seed N]      1,000 messages per point unless told
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "bench/policy/curve_run.h"
#include "bench/policy/run_size.h"
#include "control/chart/svg_chart.h"

namespace {

constexpr double losses[] = {1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2};
constexpr double held = 1.15;  // of p99 without loss

struct Arguments {
  std::string directory;
  cw::RunSize size{.messages = 1000};
};

bool parse(int argc, char** argv, Arguments& arguments) {
  if (argc < 2) return false;
  arguments.directory = argv[1];
  return cw::read_run_size({argv + 2, argv + argc}, arguments.size);
}

/// One policy under one loss model, at every loss.
struct Run {
  cw::Curve p99_ms, overhead_percent;
  double holds_to = 0;
};

Run run_policy(const cw::LossModel& model, const char* policy, double lossless_ms,
               const Arguments& arguments, std::ostream& csv) {
  Run run{.p99_ms = {.name = policy, .points = {}},
          .overhead_percent = {.name = policy, .points = {}}};
  bool holds = true;
  for (const double loss : losses) {
    const cw::CurvePoint point = cw::run_curve_cell({.model = &model,
                                                     .policy = policy,
                                                     .loss = loss,
                                                     .messages = arguments.size.messages,
                                                     .seed = arguments.size.seed});
    const cw::CompletionTimes& times = point.completion;
    csv << model.name << ',' << policy << ',' << loss << ',' << times.mean << ',' << times.p50
        << ',' << times.p99 << ',' << times.p999 << ',' << point.overhead << std::endl;
    run.p99_ms.points.push_back({100 * loss, times.p99});
    run.overhead_percent.points.push_back({100 * loss, 100 * point.overhead});
    holds = holds && times.p99 <= held * lossless_ms;
    if (holds) run.holds_to = loss;
  }
  return run;
}

void draw(const cw::LossModel& model, double lossless_ms, const Arguments& arguments,
          std::ostream& csv) {
  cw::ChartPanel times{.x_label = "packets lost, % (log)",
                       .y_label = "p99 completion of 1 MiB, ms (log)",
                       .curves = {},
                       .y_least = 1,
                       .rule = held * lossless_ms,
                       .rule_label = "no loss + 15 %"};
  cw::ChartPanel overhead{.x_label = "packets lost, % (log)",
                          .y_label = "resent and repair, % of data packets (log)",
                          .curves = {},
                          .y_least = 0.01,
                          .rule_label = {}};
  std::printf("| %s |", model.name);
  for (const char* policy : cw::curve_policies) {
    Run run = run_policy(model, policy, lossless_ms, arguments, csv);
    std::printf(run.holds_to > 0 ? " %g %% |" : " - |", 100 * run.holds_to);
    std::fflush(stdout);
    times.curves.push_back(std::move(run.p99_ms));
    overhead.curves.push_back(std::move(run.overhead_percent));
  }
  std::printf("\n");
  const cw::ChartPanel panels[] = {std::move(times), std::move(overhead)};
  std::ofstream(arguments.directory + "/curves_" + model.name + ".svg")
      << cw::svg_of(std::string(model.title) + ": 20 ms RTT, 500 Mbit/s", panels);
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (!parse(argc, argv, arguments)) {
    std::fprintf(stderr, "usage: policy_curves DIRECTORY [--messages N] [--seed N]\n");
    return 2;
  }
  std::ofstream csv(arguments.directory + "/curves.csv");
  if (!csv) {
    std::fprintf(stderr, "%s: no directory to write to\n", arguments.directory.c_str());
    return 2;
  }
  csv << "model,policy,loss,mean_ms,p50_ms,p99_ms,p999_ms,overhead_per_data\n";
  const double lossless_ms =
      cw::run_curve_cell(
          {.model = cw::loss_models.data(), .policy = "selective_repeat", .messages = 100})
          .completion.p99;
  std::printf("p99 without loss: %.2f ms\n\n| |", lossless_ms);
  for (const char* policy : cw::curve_policies) std::printf(" `%s` |", policy);
  std::printf("\n|---|---|---|---|---|---|\n");
  for (const cw::LossModel& model : cw::loss_models) draw(model, lossless_ms, arguments, csv);
  return csv ? 0 : 1;
}
