#include "dataplane/port/sim/fabric/calendar.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <vector>

#include "dataplane/base/prng.h"
#include "tests/property/property.h"

namespace cw {
namespace {

using namespace literals;

Instant at(int64_t ns) { return Instant::from_ns(ns); }

/// All that is due by `limit`, one by one.
std::vector<uint32_t> pull_all(Calendar& calendar, Instant limit) {
  std::vector<uint32_t> numbers;
  Calendar::Due due;
  while (calendar.pull(limit, {}, {&due, 1}) == 1) numbers.push_back(due.number);
  return numbers;
}
using Numbers = std::vector<uint32_t>;

TEST(FabricCalendar, hands_out_what_is_due_and_no_more) {
  Calendar calendar(3);
  calendar.push(0, at(200));
  calendar.push(1, at(100));
  EXPECT_EQ(calendar.earliest(), at(100));
  EXPECT_EQ(pull_all(calendar, at(99)), Numbers{});
  EXPECT_EQ(pull_all(calendar, at(100)), Numbers{1});
  EXPECT_EQ(calendar.now(), at(100));
  EXPECT_EQ(pull_all(calendar, at(200)), Numbers{0});
  EXPECT_EQ(calendar.earliest(), Instant::never());
}

TEST(FabricCalendar, equal_instants_keep_their_order_wherever_they_were_pushed_from) {
  // Given one instant, pushed to when it is far, when its page is known, and when it is near.
  constexpr Instant then = Instant::from_ns(40'000'000);
  Calendar calendar(30);
  for (uint32_t i = 0; i < 10; ++i) calendar.push(i, then);
  calendar.advance_to(at(30'000'000));
  for (uint32_t i = 10; i < 20; ++i) calendar.push(i, then);
  calendar.advance_to(at(39'999'000));
  for (uint32_t i = 20; i < 30; ++i) calendar.push(i, then);
  const Numbers numbers = pull_all(calendar, then);
  EXPECT_EQ(numbers.size(), 30u);
  EXPECT_TRUE(std::ranges::is_sorted(numbers));
}

TEST(FabricCalendar, a_leap_over_many_pages_finds_all_that_lies_behind_it) {
  Calendar calendar(4);
  calendar.push(0, at(100'000'000'001));
  calendar.push(1, at(100'000'000'000));
  calendar.push(2, at(5'000'000));
  EXPECT_EQ(calendar.earliest(), at(5'000'000));
  EXPECT_EQ(pull_all(calendar, at(99'000'000'000)), Numbers{2});
  EXPECT_EQ(calendar.earliest(), at(100'000'000'000));
  EXPECT_EQ(pull_all(calendar, Instant::never()), (Numbers{1, 0}));
}

TEST(FabricCalendar, pulls_no_further_ahead_than_it_is_told) {
  Calendar calendar(4);
  for (uint32_t i = 0; i < 4; ++i) calendar.push(i, at(10 * (i + 1)));
  std::array<Calendar::Due, 8> due;
  ASSERT_EQ(calendar.pull(at(1000), 10_ns, due), 2u);
  EXPECT_EQ(due[1].at, at(20));
  ASSERT_EQ(calendar.pull(at(35), 1_us, due), 1u);
  EXPECT_EQ(due[0].at, at(30));
}

TEST(FabricCalendar, a_full_row_leaves_the_rest_of_its_instant_for_the_next) {
  Calendar calendar(3);
  for (uint32_t i = 0; i < 3; ++i) calendar.push(i, at(7));
  std::array<Calendar::Due, 2> due;
  ASSERT_EQ(calendar.pull(at(7), 1_us, due), 2u);
  EXPECT_EQ(due[1].number, 1u);
  ASSERT_EQ(calendar.pull(at(7), 1_us, due), 1u);
  EXPECT_EQ(due[0].number, 2u);
}

TEST(FabricTakenPlaces, find_the_next_one_going_round) {
  TakenPlaces<8192> taken;
  EXPECT_EQ(taken.find_around(5), taken.none);
  for (const size_t place : {0u, 63u, 64u, 4095u, 4096u, 8191u}) {
    taken.set(place);
    EXPECT_EQ(taken.find_around(place), place);
    EXPECT_EQ(taken.find_around((place + 1) % 8192), place) << "all the way round to " << place;
    taken.clear(place);
  }
  taken.set(100);
  taken.set(5000);
  EXPECT_EQ(taken.find_around(101), 5000u);
  EXPECT_EQ(taken.find_around(5001), 100u);
}

/// Of how far ahead things are pushed: within a page, of pages, of all that are known, far.
int64_t draw_distance(Prng& prng) {
  constexpr std::array<uint64_t, 4> ranges = {40, 20'000, 30'000'000, 5'000'000'000};
  return static_cast<int64_t>(prng.below(ranges[prng.below(ranges.size())]));
}

RC_GTEST_PROP(FabricCalendar, is_a_list_sorted_by_instant_and_order, (uint64_t seed)) {
  constexpr uint32_t count = 200;
  Prng prng(seed);
  Calendar calendar(count);
  std::set<std::pair<std::pair<int64_t, uint64_t>, uint32_t>> expected;
  std::vector<uint32_t> unused;
  for (uint32_t i = 0; i < count; ++i) unused.push_back(i);
  for (uint64_t order = 0; order < 2000; ++order) {
    if (!unused.empty() && prng.chance(0.55)) {
      const int64_t then = calendar.now().ns() + draw_distance(prng);
      calendar.push(unused.back(), at(then));
      expected.insert({{then, order}, unused.back()});
      unused.pop_back();
    } else if (!expected.empty()) {
      const auto first = *expected.begin();
      RC_ASSERT(calendar.earliest() == at(first.first.first));
      if (prng.chance(0.2)) {
        const int64_t wait = first.first.first - calendar.now().ns();
        calendar.advance_to(calendar.now() + Duration::from_ns(wait / 2));
      }
      Calendar::Due due;
      RC_ASSERT(calendar.pull(Instant::never(), {}, {&due, 1}) == 1u);
      RC_ASSERT(due.number == first.second);
      RC_ASSERT(due.at == at(first.first.first));
      expected.erase(expected.begin());
      unused.push_back(due.number);
    }
  }
}

}  // namespace
}  // namespace cw
