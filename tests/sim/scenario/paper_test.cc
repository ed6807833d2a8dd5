// The paper's figures by our endpoints, the formulas beside them, and how both are drawn.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "bench/policy/coding_model.h"
#include "bench/policy/coding_run.h"
#include "bench/policy/paper_model.h"
#include "bench/policy/paper_run.h"
#include "bench/policy/svg_chart.h"
#include "dataplane/base/prng.h"

namespace cw {
namespace {

// ---- The model of erasure coding against figures computed elsewhere and against dice ----

CodingSetting setting(PaperCode code, uint32_t k, uint32_t m, double loss, uint32_t chunks = 2048) {
  return {.line = {.chunks = chunks, .loss = loss}, .code = code, .k = k, .m = m};
}

/// `figure` is given to so many significant digits that it may be off by `share` of itself.
void expect_figure(double value, double figure, double share) {
  EXPECT_NEAR(value, figure, share * figure);
}

TEST(CodingModel, gives_the_known_probabilities_of_failure_and_fallback) {
  const struct {
    double loss, mds, mds_fallback, xor_, xor_fallback;
  } rows[] = {
      {1e-4, 0, 0, 8.00e-7, 5.12e-5},           {1e-3, 0, 0, 7.98e-5, 5.10e-3},
      {1e-2, 2.07e-10, 1.3e-8, 7.81e-3, 0.395}, {3e-2, 2.31e-6, 1.5e-4, 6.58e-2, 0.987},
      {5e-2, 1.30e-4, 8.3e-3, 0.167, 1.0},      {1e-1, 1.55e-2, 0.632, 0.493, 1.0},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.loss);
    const CodingSetting mds = setting(PaperCode::Mds, 32, 8, row.loss);
    if (row.mds == 0) {
      EXPECT_LT(block_failure(mds), 1e-15);
      EXPECT_LT(fallback_probability(mds), 1e-13);
    } else {
      expect_figure(block_failure(mds), row.mds, 0.005);
      expect_figure(fallback_probability(mds), row.mds_fallback, 0.05);
    }
    const CodingSetting by_xor = setting(PaperCode::Xor, 32, 8, row.loss);
    expect_figure(block_failure(by_xor), row.xor_, 0.005);
    expect_figure(fallback_probability(by_xor), row.xor_fallback, 0.005);
  }
  expect_figure(block_failure(setting(PaperCode::Mds, 32, 4, 1e-2)), 2.91e-5, 0.005);
  expect_figure(block_failure(setting(PaperCode::Mds, 16, 4, 1e-2)), 1.37e-6, 0.005);
  EXPECT_LT(block_failure(setting(PaperCode::Mds, 32, 16, 1e-2)), 1e-15);
}

TEST(CodingModel, gives_the_known_completion_times_where_nothing_falls_back) {
  EXPECT_NEAR(coding_mean_ms(setting(PaperCode::Mds, 32, 8, 1e-3, 512)), 25.839, 0.0006);
  EXPECT_NEAR(coding_mean_ms(setting(PaperCode::Mds, 32, 8, 1e-2, 512)), 25.839, 0.0006);
  EXPECT_NEAR(coding_mean_ms(setting(PaperCode::Mds, 32, 8, 1e-4)), 28.355, 0.0006);
  EXPECT_NEAR(coding_mean_ms(setting(PaperCode::Mds, 32, 8, 0)), 28.355, 0.0006);
  EXPECT_NEAR(coding_mean_ms(setting(PaperCode::Mds, 32, 8, 1e-3, 16384)), 51.844, 0.0006);
}

TEST(CodingModel, turns_packet_loss_into_chunk_loss) {
  expect_figure(chunk_loss(1e-4, 16), 0.0016, 0.001);
  expect_figure(chunk_loss(1e-3, 16), 1.59e-2, 0.005);
  expect_figure(chunk_loss(1e-2, 16), 0.1485, 0.0005);
  // With those: 128 MiB by XOR at a packet loss of 1e-3, and by MDS at 3e-3 to 1e-2.
  const auto fallback = [](PaperCode code, double loss) {
    return fallback_probability(setting(code, 32, 8, chunk_loss(loss, 16)));
  };
  expect_figure(fallback(PaperCode::Xor, 1e-3), 0.71, 0.02);
  expect_figure(fallback(PaperCode::Mds, 3e-3), 5.1e-3, 0.02);
  expect_figure(fallback(PaperCode::Mds, 5e-3), 0.17, 0.02);
  expect_figure(fallback(PaperCode::Mds, 1e-2), 1.0, 0.005);
}

// Groups differ in size when m does not divide k.
TEST(CodingModel, counts_xor_groups_of_different_sizes) {
  const double p = 0.1;
  const auto well = [p](int n) { return std::pow(1 - p, n) + n * p * std::pow(1 - p, n - 1); };
  const CodingSetting uneven = setting(PaperCode::Xor, 5, 2, p, 50);
  EXPECT_NEAR(block_failure(uneven), 1 - well(4) * well(3), 1e-12);
}

/// Within five standard errors of what was thrown.
void expect_model_mean(double model, const std::vector<double>& thrown) {
  const auto count = static_cast<double>(thrown.size());
  double sum = 0, squares = 0;
  for (const double each : thrown) {
    sum += each;
    squares += each * each;
  }
  const double mean = sum / count;
  EXPECT_NEAR(model, mean, 5 * std::sqrt((squares / count - mean * mean) / count));
}

/// One message by dice.
struct Thrown {
  double paper_ms = 0;    ///< all of a block that failed is repeated
  double keeping_ms = 0;  ///< its lost data, until the code can do the rest
};
Thrown throw_message(const CodingSetting& it, Prng& prng) {
  const auto is_lost = [&] { return prng.uniform() < it.line.loss; };
  const uint32_t groups = it.code == PaperCode::Mds ? 1 : it.m, repair = it.m / groups;
  uint32_t failed = 0, resends = 0;
  for (uint32_t block = 0; block < it.line.chunks / it.k; ++block) {
    bool has_failed = false;
    for (uint32_t group = 0; group < groups; ++group) {
      uint32_t data = 0, others = 0;
      for (uint32_t i = 0; i < it.k / groups; ++i) data += is_lost();
      for (uint32_t i = 0; i < repair; ++i) others += is_lost();
      has_failed |= data + others > repair;
      for (uint32_t round = 1; data + others > repair; ++round) {
        uint32_t left = 0;
        for (uint32_t i = 0; i < data; ++i) left += is_lost();
        data = left;
        resends = std::max(resends, round);
      }
    }
    failed += has_failed;
  }
  double latest = 0;
  for (uint32_t i = 1; i <= failed * it.k; ++i) {
    double at = i * it.line.inject_ms;
    while (is_lost()) at += it.line.rto_ms + it.line.inject_ms;
    latest = std::max(latest, at);
  }
  const double first =
      it.line.chunks * (1 + double(it.m) / it.k) * it.line.inject_ms + it.line.rtt_ms;
  if (failed == 0) return {first, first};
  const double again = first + (it.beta + 1) * it.line.rtt_ms;
  return {again + latest, again + (resends - 1) * it.line.rto_ms};
}

TEST(CodingModel, agrees_with_dice) {
  for (const auto& [code, loss] :
       {std::pair{PaperCode::Xor, 1e-2}, {PaperCode::Xor, 3e-2}, {PaperCode::Mds, 0.12}}) {
    const CodingSetting it = setting(code, 32, 8, loss, 512);
    const uint64_t seed = 42;
    Prng prng(seed);
    std::vector<double> paper, keeping;
    for (int i = 0; i < 4000; ++i) {
      const Thrown thrown = throw_message(it, prng);
      paper.push_back(thrown.paper_ms);
      keeping.push_back(thrown.keeping_ms);
    }
    SCOPED_TRACE(testing::Message() << "loss " << loss << ", seed " << seed);
    expect_model_mean(coding_mean_ms(it), paper);
    expect_model_mean(keeping_mean_ms(it), keeping);
    EXPECT_GT(fallback_probability(it), 0.05);
  }
}

// ---- coding ----
// Erasure coding over the simulator against its formulas, in small; bench/policy/coding_table is
// the same in large.

/// The mean: 5 %, and five of its standard errors. The share that falls back: z = 5. One seed in
/// two million exceeds either.
void expect_model(const CodingCell& cell) {
  SCOPED_TRACE(testing::Message() << "m " << cell.m << ", rows " << cell.rows << ", loss "
                                  << cell.loss << ", seed " << cell.seed);
  const CodingSetting setting = coding_setting(cell);
  const CodingReport ours = run_coding_cell(cell);
  EXPECT_EQ(ours.report.completed, cell.messages);
  const CompletionTimes& times = ours.report.completion;
  const double mean = keeping_mean_ms(setting);
  EXPECT_NEAR(times.mean, mean, 0.05 * mean + 5 * times.mean_error);
  const Interval share = share_interval(ours.fell_back, ours.settled, 5);
  EXPECT_LE(share.low, fallback_probability(setting));
  EXPECT_GE(share.high, fallback_probability(setting));
}

TEST(Coding, meets_the_formulas_where_nothing_falls_back) {
  expect_model({.slots = 512, .loss = 1e-2, .messages = 200});
  expect_model({.code = PaperCode::Xor, .slots = 512, .loss = 1e-4, .messages = 200});
}

TEST(Coding, meets_the_formulas_where_messages_fall_back) {
  expect_model({.slots = 512, .loss = 1e-1, .messages = 200});
  expect_model({.code = PaperCode::Xor, .slots = 512, .loss = 1e-2, .messages = 200});
  expect_model({.code = PaperCode::Xor, .slots = 512, .loss = 1e-1, .messages = 100});
}

// A chunk of 16 packets is lost 8 times in 100 at this loss and MDS(32, 8) falls back; by rows it
// does not notice.
TEST(Coding, rows_hold_where_whole_chunks_fall_back) {
  const double loss = 5e-3;
  const CodingCell whole{.slots = 512, .loss = chunk_loss(loss, 16), .messages = 100};
  const CodingCell rows{.slots = 8192, .rows = 16, .gbps = 400, .loss = loss, .messages = 20};
  expect_model(whole);
  expect_model(rows);
  EXPECT_GT(run_coding_cell(whole).fell_back, 0u);
  EXPECT_EQ(run_coding_cell(rows).fell_back, 0u);
}

// What a message's blocks are is told in control packets, which are lost like others. Until it is
// told again nothing can be rebuilt.
TEST(Coding, a_lost_description_costs_a_quarter_of_a_round_trip) {
  const CodingReport ours = run_coding_cell({.slots = 512, .loss = 3e-2, .messages = 300});
  EXPECT_EQ(ours.report.resent_packets, 0u);
  uint64_t late = 0;
  for (const Duration time : ours.report.completion_times) late += time.ms() > 25 * 1.6;
  // Two lost in a row cost half of one, 26 ms is the least, and 9e-4 of 300 messages meet that. Did
  // one cost as much, it would be nine.
  EXPECT_LE(late, 2u);
}

// ---- paper ----
// The model of arXiv 2505.05366 against its own figures, and the simulation against the model.

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
void expect_paper_mean(PaperPolicy policy, double rto_ms, double loss, uint64_t seed) {
  const PaperCell cell{.policy = policy, .chunks = 512, .loss = loss, .seed = seed};
  const PaperMoments model = paper_moments({.chunks = cell.chunks, .loss = loss, .rto_ms = rto_ms});
  const Report report = run_paper_cell(cell);
  const double error = model.deviation_ms / std::sqrt(static_cast<double>(cell.messages));
  EXPECT_EQ(report.completed, cell.messages);
  EXPECT_NEAR(report.completion.mean, model.mean_ms, 0.01 * model.mean_ms + 5 * error)
      << "loss " << loss << ", seed " << seed;
}

TEST(Paper, selective_repeat_by_timeout_meets_sr3) {
  expect_paper_mean(PaperPolicy::Sr3, 75, 1e-3, 1);
  expect_paper_mean(PaperPolicy::Sr3, 75, 1e-2, 2);
}

TEST(Paper, selective_repeat_by_nack_meets_sr1) {
  expect_paper_mean(PaperPolicy::Sr1, 25, 1e-3, 1);
  expect_paper_mean(PaperPolicy::Sr1, 25, 1e-2, 2);
}

// ---- What the figures are drawn with ----

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(SvgChart, puts_ticks_at_round_numbers) {
  const std::vector<double> few{50, 70, 100, 150, 200}, some{0.2, 0.5, 1, 2, 5};
  const std::vector<double> powers{0.01, 0.1, 1, 10, 100};
  EXPECT_EQ(log_ticks(45, 210).size(), few.size());
  for (size_t i = 0; i < few.size(); ++i) EXPECT_DOUBLE_EQ(log_ticks(45, 210)[i], few[i]);
  ASSERT_EQ(log_ticks(0.15, 6).size(), some.size());
  for (size_t i = 0; i < some.size(); ++i) EXPECT_DOUBLE_EQ(log_ticks(0.15, 6)[i], some[i]);
  ASSERT_EQ(log_ticks(0.009, 110).size(), powers.size());
  for (size_t i = 0; i < powers.size(); ++i) {
    EXPECT_DOUBLE_EQ(log_ticks(0.009, 110)[i], powers[i]);
  }
}

TEST(SvgChart, draws_every_curve_with_its_name_and_every_axis_with_its_label) {
  const ChartPanel panel{.x_label = "across, %",
                         .y_label = "up, ms",
                         .curves = {{"one", {{1, 10}, {10, 100}}}, {"two", {{1, 20}, {10, 0}}}},
                         .y_least = 5,
                         .rule = 50,
                         .rule_label = "enough"};
  const ChartPanel panels[] = {panel, panel};
  const std::string svg = svg_of("a title", panels);
  EXPECT_EQ(count_of(svg, "<polyline "), 4u);
  EXPECT_EQ(count_of(svg, "<circle "), 8u);
  for (const char* text : {"across, %", "up, ms", "enough"}) EXPECT_EQ(count_of(svg, text), 2u);
  for (const char* text : {">a title<", ">one<", ">two<"}) EXPECT_EQ(count_of(svg, text), 1u);
  EXPECT_EQ(count_of(svg, "nan") + count_of(svg, "inf"), 0u);
}

// Higher values lie higher on the page, and the lowest at y_least, not below the frame.
TEST(SvgChart, puts_points_where_they_belong) {
  const ChartPanel panel{.curves = {{"one", {{1, 10}, {10, 100}, {100, 0}}}}, .y_least = 10};
  const std::string svg = svg_of("", {&panel, 1});
  const size_t at = svg.find("<polyline points='");
  ASSERT_NE(at, std::string::npos);
  double x[3], y[3];
  ASSERT_EQ(std::sscanf(svg.c_str() + at, "<polyline points='%lf,%lf %lf,%lf %lf,%lf", &x[0], &y[0],
                        &x[1], &y[1], &x[2], &y[2]),
            6);
  EXPECT_LT(x[0], x[1]);
  EXPECT_NEAR(x[1] - x[0], x[2] - x[1], 0.11);  // a decade each
  EXPECT_GT(y[0], y[1]);
  // 10 is drawn at its place, 0 at the foot of the axis: within the frame, at most a margin below.
  EXPECT_GE(y[2], y[0]);
  EXPECT_LT(y[2] - y[0], 15);
}

}  // namespace

}  // namespace cw
