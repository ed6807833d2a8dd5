// The model of erasure coding against figures computed elsewhere and against dice.
#include "bench/policy/coding_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "dataplane/base/prng.h"

namespace cw {
namespace {

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
void expect_mean(double model, const std::vector<double>& thrown) {
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
    expect_mean(coding_mean_ms(it), paper);
    expect_mean(keeping_mean_ms(it), keeping);
    EXPECT_GT(fallback_probability(it), 0.05);
  }
}

}  // namespace
}  // namespace cw
