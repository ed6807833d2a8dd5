#include "dataplane/base/prng.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>

#include "tests/property/property.h"

namespace cw {
namespace {

// Computed apart from the authors' description of xoshiro256++ and splitmix64. A change here
// changes every simulation that anybody has kept by its seed.
TEST(Prng, begins_with_the_golden_numbers_of_its_seed) {
  struct Golden {
    uint64_t seed;
    std::array<uint64_t, 4> numbers;
  };
  const Golden goldens[] = {
      {0, {0x53175d61490b23df, 0x61da6f3dc380d507, 0x5c0fdf91ec9a7bfc, 0x02eebf8c3bbe5e1a}},
      {1, {0xcfc5d07f6f03c29b, 0xbf424132963fe08d, 0x19a37d5757aaf520, 0xbf08119f05cd56d6}},
      {42, {0xd0764d4f4476689f, 0x519e4174576f3791, 0xfbe07cfb0c24ed8c, 0xb37d9f600cd835b8}},
  };
  for (const Golden& golden : goldens) {
    Prng prng(golden.seed);
    for (const uint64_t number : golden.numbers) EXPECT_EQ(prng.next(), number);
  }
}

RC_GTEST_PROP(Prng, stays_below_the_bound, (uint64_t seed, uint64_t bound)) {
  RC_PRE(bound > 0u);
  Prng prng(seed);
  for (int i = 0; i < 20; ++i) RC_ASSERT(prng.below(bound) < bound);
}

RC_GTEST_PROP(Prng, stays_between_both_ends, (uint64_t seed, uint64_t a, uint64_t b)) {
  Prng prng(seed);
  const uint64_t low = std::min(a, b), high = std::max(a, b);
  for (int i = 0; i < 20; ++i) {
    const uint64_t number = prng.between(low, high);
    RC_ASSERT(low <= number && number <= high);
  }
}

TEST(Prng, reaches_both_ends_of_a_small_range_and_all_of_the_whole_one) {
  Prng prng(3);
  std::set<uint64_t> seen;
  for (int i = 0; i < 100; ++i) seen.insert(prng.between(5, 7));
  EXPECT_EQ(seen, (std::set<uint64_t>{5, 6, 7}));
  EXPECT_EQ(prng.below(1), 0u);
  EXPECT_EQ(prng.between(9, 9), 9u);
  EXPECT_GT(prng.between(0, UINT64_MAX), 0u);
}

// Chi-square over 100 cells, 99 degrees of freedom: a uniform source exceeds 149 once in a thousand
// seeds; this one seed is fixed and does not.
double chi_square(const std::array<int, 100>& cells, int draws) {
  const double expected = draws / 100.0;
  double sum = 0;
  for (const int count : cells) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

TEST(Prng, fills_all_cells_alike) {
  constexpr int draws = 100'000;
  Prng prng(7);
  std::array<int, 100> by_below{}, by_uniform{};
  for (int i = 0; i < draws; ++i) {
    ++by_below[prng.below(100)];
    ++by_uniform[static_cast<size_t>(prng.uniform() * 100)];
  }
  EXPECT_LT(chi_square(by_below, draws), 149);
  EXPECT_LT(chi_square(by_uniform, draws), 149);
}

TEST(Prng, draws_one_number_for_every_chance) {
  Prng never(5), always(5), plain(5);
  EXPECT_FALSE(never.chance(0));
  EXPECT_TRUE(always.chance(1));
  plain.next();
  const uint64_t second = plain.next();
  EXPECT_EQ(never.next(), second);
  EXPECT_EQ(always.next(), second);
}

TEST(Prng, keeps_the_mean_of_its_distributions) {
  Prng prng(11);
  double exponential_sum = 0;
  int hits = 0;
  constexpr int draws = 100'000;
  for (int i = 0; i < draws; ++i) {
    const double value = prng.exponential(3.0);
    ASSERT_TRUE(std::isfinite(value) && value >= 0);
    exponential_sum += value;
    hits += prng.chance(0.01);
  }
  EXPECT_NEAR(exponential_sum / draws, 3.0, 0.05);
  EXPECT_NEAR(hits, 1000, 120);
}

TEST(Prng, splits_off_a_row_that_shares_nothing_with_its_own) {
  Prng parent(13);
  Prng child = parent.split();
  std::set<uint64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(parent.next()), seen.insert(child.next());
  EXPECT_EQ(seen.size(), 2000u);
}

TEST(Prng, is_not_disturbed_by_how_much_a_split_part_draws) {
  Prng lazy(17), busy(17);
  lazy.split();
  Prng part = busy.split();
  for (int i = 0; i < 100; ++i) part.next();
  EXPECT_EQ(lazy.next(), busy.next());
}

}  // namespace
}  // namespace cw
