// The model against the simulator, at points drawn from the box of box.h.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/sim/model/box.h"

namespace cw {
namespace {

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// How many points of the box had no law, or a bound only.
struct Count {
  uint64_t all = 0, refused = 0;
};

/// The mean within 5 % and three of the simulation's standard errors, as the former is exact and
/// the latter is not. p99.9 within 10 % of where the simulation's lies with 95 % confidence.
void expect_agreement(const BoxPoint& point, uint64_t messages, uint64_t seed, Count& count) {
  // A case takes seconds; whoever waits sees how far it is.
  std::printf("%s\n", point.text().c_str());
  std::fflush(stdout);
  SCOPED_TRACE(point.text() + ", seed " + std::to_string(seed));
  ++count.all;
  const auto model = predict_point(point);
  if (!model || model->is_bound) {
    ++count.refused;
    return;
  }
  const Report report = run_point(point, messages, seed);
  const CompletionTimes& ours = report.completion;
  EXPECT_EQ(report.completed, messages);
  EXPECT_NEAR(model->mean_ms, ours.mean, 0.05 * ours.mean + 3 * ours.mean_error);
  if (messages < 20'000) return;
  EXPECT_GE(model->p999_high_ms, 0.9 * ours.p999_low);
  EXPECT_LE(model->p999_low_ms, 1.1 * ours.p999_high);
}

/// `points` of each policy under each kind of loss.
void expect_box(uint64_t points, uint64_t messages, uint64_t seed) {
  std::printf("seed %llu, CW_SEED sets it\n", static_cast<unsigned long long>(seed));
  Prng prng(seed);
  Count count;
  for (uint64_t i = 0; i < points; ++i) {
    for (const bool is_bursty : {false, true}) {
      for (uint8_t policy = 0; policy < uint8_t(BoxPolicy::Count); ++policy) {
        const BoxPoint point = draw_point(BoxPolicy(policy), is_bursty, prng);
        expect_agreement(point, messages, prng.next() >> 12, count);
      }
    }
  }
  std::printf("%llu points, %llu without a law\n", static_cast<unsigned long long>(count.all),
              static_cast<unsigned long long>(count.refused));
  // A tenth of a small number may be exceeded by chance.
  EXPECT_LE(count.refused, count.all / 10 + (count.all < 50 ? 1 : 0));
}

#ifdef CW_WHOLE_BOX

TEST(ModelBox, agrees_with_the_simulator_in_the_mean_and_in_the_tail) {
  expect_box(from_environment("CW_POINTS", 8), 20'000, from_environment("CW_SEED", 1));
}

#else

TEST(ModelBox, agrees_with_the_simulator_in_the_mean_at_a_few_points) {
  expect_box(from_environment("CW_POINTS", 1), 600, from_environment("CW_SEED", 3));
}

#endif

}  // namespace
}  // namespace cw
