// The model of arXiv 2505.05366 against its own figures, and the simulation against the model.
#include <gtest/gtest.h>

#include <cmath>

#include "bench/policy/paper_model.h"
#include "bench/policy/paper_run.h"

namespace cw {
namespace {

TEST(PaperModel, gives_the_known_means_and_quantiles) {
  const double losses[] = {1e-5, 1e-4, 1e-3, 1e-2};
  const struct {
    uint32_t chunks;
    double rto_ms;
    double mean[4], p999[4];
  } rows[] = {
      {2, 75, {25.004, 25.018, 25.153, 26.510}, {25.00, 25.00, 100.00, 100.00}},
      {2, 25, {25.003, 25.008, 25.053, 25.505}, {25.00, 25.00, 50.00, 50.00}},
      {512, 75, {26.052, 29.399, 55.652, 103.882}, {100.54, 100.66, 100.67, 175.67}},
      {512, 25, {25.797, 26.903, 35.583, 51.651}, {50.54, 50.66, 50.67, 75.67}},
      {2048, 75, {29.178, 41.336, 92.379, 116.384}, {102.55, 102.67, 176.38, 251.39}},
      {2048, 25, {28.164, 32.075, 48.719, 57.021}, {52.55, 52.67, 76.38, 101.39}},
  };
  for (const auto& row : rows) {
    for (size_t i = 0; i < 4; ++i) {
      const PaperSetting setting{.chunks = row.chunks, .loss = losses[i], .rto_ms = row.rto_ms};
      EXPECT_NEAR(paper_moments(setting).mean_ms, row.mean[i], 0.0011);
      EXPECT_NEAR(paper_quantile_ms(setting, 0.999), row.p999[i], 0.011);
    }
  }
}

/// How far the mean of n messages may be off: 1 % for what the model leaves out (the time until an
/// acknowledgement is written, turns, a lost acknowledgement of the closing), and five standard
/// errors, which one seed in two million exceeds.
void expect_mean(PaperPolicy policy, double rto_ms, double loss, uint64_t seed) {
  const PaperCell cell{.policy = policy, .chunks = 512, .loss = loss, .seed = seed};
  const PaperMoments model = paper_moments({.chunks = cell.chunks, .loss = loss, .rto_ms = rto_ms});
  const Report report = run_paper_cell(cell);
  const double error = model.deviation_ms / std::sqrt(static_cast<double>(cell.messages));
  EXPECT_EQ(report.completed, cell.messages);
  EXPECT_NEAR(report.completion.mean, model.mean_ms, 0.01 * model.mean_ms + 5 * error)
      << "loss " << loss << ", seed " << seed;
}

TEST(Paper, selective_repeat_by_timeout_meets_sr3) {
  expect_mean(PaperPolicy::Sr3, 75, 1e-3, 1);
  expect_mean(PaperPolicy::Sr3, 75, 1e-2, 2);
}

TEST(Paper, selective_repeat_by_nack_meets_sr1) {
  expect_mean(PaperPolicy::Sr1, 25, 1e-3, 1);
  expect_mean(PaperPolicy::Sr1, 25, 1e-2, 2);
}

}  // namespace
}  // namespace cw
