// The laws against figures of SDR-RDMA's model (arXiv 2505.05366) that were computed elsewhere: 400
// Gbit/s, 25 ms, chunks of 64 KiB, so 1.31072 us to leave; the loss is a chunk's.
#include <gtest/gtest.h>

#include <array>

#include "control/model/policy/coding.h"
#include "control/model/policy/repeat.h"

namespace cw::model {
namespace {

constexpr double slot_ms = 1.31072e-3, rtt_ms = 25;
constexpr std::array losses{1e-5, 1e-4, 1e-3, 1e-2};

Law repeat(uint64_t chunks, double loss, double rto_ms, double chunk_ms = slot_ms) {
  const RepeatTimes times{.slots = chunks,
                          .slot_ms = chunk_ms,
                          .rtt_ms = rtt_ms,
                          .found_ms = rto_ms,
                          .again_ms = rto_ms};
  return repeat_law(times, LossChain::independent(loss));
}

Coding code(const Code& code, double loss, uint64_t chunks = 2048, double chunk_ms = slot_ms) {
  const CodingTimes times{
      .slots = chunks, .slot_ms = chunk_ms, .rtt_ms = rtt_ms, .again_ms = rtt_ms};
  return paper_law(times, code, loss);
}
constexpr Code mds{.k = 32, .m = 8, .rows = 1}, by_xor{.is_xor = true, .k = 32, .m = 8, .rows = 1};

/// `figure` is given to so many significant digits that it may be off by `share` of itself.
void expect_figure(double value, double figure, double share) {
  EXPECT_NEAR(value, figure, share * figure);
}

TEST(CheckValues, selective_repeat_has_the_known_means_and_tails) {
  const struct {
    uint64_t chunks;
    double rto_ms;
    std::array<double, 4> mean, p999;
  } rows[] = {
      {2, 75, {25.004, 25.018, 25.153, 26.510}, {25.00, 25.00, 100.00, 100.00}},
      {2, 25, {25.003, 25.008, 25.053, 25.505}, {25.00, 25.00, 50.00, 50.00}},
      {512, 75, {26.052, 29.399, 55.652, 103.882}, {100.54, 100.66, 100.67, 175.67}},
      {512, 25, {25.797, 26.903, 35.583, 51.651}, {50.54, 50.66, 50.67, 75.67}},
      {2048, 75, {29.178, 41.336, 92.379, 116.384}, {102.55, 102.67, 176.38, 251.39}},
      {2048, 25, {28.164, 32.075, 48.719, 57.021}, {52.55, 52.67, 76.38, 101.39}},
  };
  for (const auto& row : rows) {
    for (size_t i = 0; i < losses.size(); ++i) {
      SCOPED_TRACE(testing::Message() << row.chunks << " chunks, loss " << losses[i]);
      const Law law = repeat(row.chunks, losses[i], row.rto_ms);
      EXPECT_NEAR(law.mean_ms(), row.mean[i], 0.0011);
      EXPECT_NEAR(law.quantile_ms(0.999), row.p999[i], 0.011);
    }
  }
}

// A message of 1 GiB, whose 21 ms to leave are no longer than either timeout.
TEST(CheckValues, a_long_message_has_the_known_means_and_tails) {
  const struct {
    double loss, sr3, sr1, p999_sr3;
  } rows[] = {{1e-5, 56.231, 48.675, 121.35}, {1e-3, 121.233, 70.419, 195.19}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.loss);
    expect_figure(repeat(16384, row.loss, 75).mean_ms(), row.sr3, 0.0005);
    expect_figure(repeat(16384, row.loss, 25).mean_ms(), row.sr1, 0.0005);
    expect_figure(repeat(16384, row.loss, 75).quantile_ms(0.999), row.p999_sr3, 0.0005);
  }
}

TEST(CheckValues, coding_has_the_known_times_where_nothing_falls_back) {
  const struct {
    uint64_t chunks;
    double time_ms;
  } rows[] = {{512, 25.839}, {2048, 28.355}, {16384, 51.844}};
  for (const auto& row : rows) {
    for (const double loss : {0.0, 1e-5, 1e-4, 1e-3}) {
      EXPECT_NEAR(code(mds, loss, row.chunks).law.mean_ms(), row.time_ms, 0.0006);
      EXPECT_NEAR(code(mds, loss, row.chunks).law.quantile_ms(0.999), row.time_ms, 0.0006);
    }
  }
}

TEST(CheckValues, coding_gains_what_is_known_over_selective_repeat_by_timeout) {
  const struct {
    uint64_t chunks;
    double loss, mean_ratio, tail_ratio;
  } rows[] = {{2, 1e-3, 1.01, 4.00},    {512, 1e-3, 2.15, 3.90},   {512, 1e-2, 4.02, 6.80},
              {2048, 1e-5, 1.03, 3.62}, {2048, 1e-4, 1.46, 3.62},  {2048, 1e-3, 3.26, 6.22},
              {2048, 1e-2, 4.10, 8.87}, {16384, 1e-5, 1.08, 2.34}, {16384, 1e-3, 2.34, 3.76}};
  for (const auto& row : rows) {
    SCOPED_TRACE(testing::Message() << row.chunks << " chunks, loss " << row.loss);
    const Law coded = code(mds, row.loss, row.chunks).law;
    const Law repeated = repeat(row.chunks, row.loss, 75);
    expect_figure(repeated.mean_ms() / coded.mean_ms(), row.mean_ratio, 0.01);
    expect_figure(repeated.quantile_ms(0.999) / coded.quantile_ms(0.999), row.tail_ratio, 0.01);
  }
}

// Chunks of 4 KiB: sixteen times as many, which leave in a sixteenth of the time.
TEST(CheckValues, small_chunks_gain_what_is_known) {
  const auto ratios = [](uint64_t chunks, double loss) {
    const Law coded = code(mds, loss, chunks, slot_ms / 16).law;
    const Law repeated = repeat(chunks, loss, 75, slot_ms / 16);
    return std::pair(repeated.mean_ms() / coded.mean_ms(),
                     repeated.quantile_ms(0.999) / coded.quantile_ms(0.999));
  };
  expect_figure(ratios(32768, 1e-4).first, 3.50, 0.005);
  expect_figure(ratios(32768, 1e-3).first, 3.70, 0.005);
  expect_figure(ratios(32768, 1e-2).first, 6.23, 0.005);
  expect_figure(ratios(8192, 1e-2).first, 5.54, 0.005);
  expect_figure(ratios(8192, 1e-2).second, 9.70, 0.005);
}

TEST(CheckValues, chunks_of_sixteen_packets_are_lost_as_known) {
  expect_figure(chunk_loss(1e-4, 16), 0.0016, 0.001);
  expect_figure(chunk_loss(1e-3, 16), 1.59e-2, 0.005);
  expect_figure(chunk_loss(3e-3, 16), 0.0469, 0.005);
  expect_figure(chunk_loss(5e-3, 16), 0.0771, 0.005);
  expect_figure(chunk_loss(1e-2, 16), 0.1485, 0.0005);
  // The published ratios leave fallbacks out.
  const struct {
    uint64_t chunks;
    double packet_loss, mean_ratio, tail_ratio;
  } rows[] = {{2048, 1e-4, 3.51, 6.25},  {2048, 1e-3, 4.69, 8.90},  {512, 1e-3, 4.25, 9.69},
              {1024, 3e-3, 6.60, 12.22}, {2048, 3e-3, 6.74, 11.55}, {2048, 5e-3, 8.05, 14.19},
              {2048, 1e-2, 10.98, 19.47}};
  for (const auto& row : rows) {
    SCOPED_TRACE(testing::Message() << row.chunks << " chunks, packet loss " << row.packet_loss);
    const Law repeated = repeat(row.chunks, chunk_loss(row.packet_loss, 16), 75);
    const double coded_ms = code(mds, 0, row.chunks).law.mean_ms();
    expect_figure(repeated.mean_ms() / coded_ms, row.mean_ratio, 0.005);
    expect_figure(repeated.quantile_ms(0.999) / coded_ms, row.tail_ratio, 0.005);
  }
}

TEST(CheckValues, codes_fail_and_messages_fall_back_as_known) {
  const struct {
    double loss, mds, mds_fallback, by_xor, xor_fallback;
  } rows[] = {
      {1e-4, 0, 0, 8.00e-7, 5.12e-5},           {1e-3, 0, 0, 7.98e-5, 5.10e-3},
      {1e-2, 2.07e-10, 1.3e-8, 7.81e-3, 0.395}, {3e-2, 2.31e-6, 1.5e-4, 6.58e-2, 0.987},
      {5e-2, 1.30e-4, 8.3e-3, 0.167, 1.0},      {1e-1, 1.55e-2, 0.632, 0.493, 1.0},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.loss);
    if (row.mds == 0) {
      EXPECT_LT(row_failure(mds, row.loss), 1e-15);
      EXPECT_LT(code(mds, row.loss).fallback, 1e-13);
    } else {
      expect_figure(row_failure(mds, row.loss), row.mds, 0.005);
      expect_figure(code(mds, row.loss).fallback, row.mds_fallback, 0.05);
    }
    expect_figure(row_failure(by_xor, row.loss), row.by_xor, 0.005);
    expect_figure(code(by_xor, row.loss).fallback, row.xor_fallback, 0.005);
  }
  expect_figure(row_failure({.k = 32, .m = 4}, 1e-2), 2.91e-5, 0.005);
  expect_figure(row_failure({.k = 16, .m = 4}, 1e-2), 1.37e-6, 0.005);
  EXPECT_LT(row_failure({.k = 32, .m = 16}, 1e-2), 1e-15);
}

TEST(CheckValues, messages_of_large_chunks_fall_back_as_known) {
  const auto fallback = [](const Code& it, double loss, uint64_t chunks) {
    return code(it, chunk_loss(loss, 16), chunks).fallback;
  };
  expect_figure(fallback(by_xor, 1e-3, 2048), 0.71, 0.02);
  expect_figure(fallback(mds, 1e-3, 2048), 7e-7, 0.05);
  expect_figure(fallback(mds, 3e-3, 1024), 2.6e-3, 0.02);
  expect_figure(fallback(mds, 3e-3, 2048), 5.1e-3, 0.02);
  expect_figure(fallback(mds, 5e-3, 2048), 0.17, 0.02);
  expect_figure(fallback(mds, 1e-2, 2048), 1.0, 0.005);
}

}  // namespace
}  // namespace cw::model
