#include "dataplane/base/stock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/property/property.h"

namespace cw {
namespace {

TEST(Stock, is_all_his_who_is_alone) {
  Stock stock(9);
  Portion& only = stock.join();
  EXPECT_EQ(only.own(), 9u);
  EXPECT_TRUE(only.has_room(9));
  EXPECT_FALSE(only.has_room(10));
}

TEST(Stock, keeps_for_each_his_part_whatever_others_hold) {
  Stock stock(18);
  Portion &greedy = stock.join(), &other = stock.join(), &third = stock.join();
  while (greedy.has_room(1)) greedy.take();
  EXPECT_EQ(greedy.held(), 4u + 6u) << "his part, and all that is common";
  EXPECT_EQ(other.room(), 4u);
  EXPECT_EQ(third.own(), other.own());
  other.take(4);
  EXPECT_FALSE(other.has_room(1));
  greedy.give_back(1);
  EXPECT_TRUE(other.has_room(1)) << "what was common is so again";
}

TEST(Stock, has_a_part_for_each_where_it_was_counted_for_them) {
  for (const size_t alone : {1u, 2u, 64u, 1000u}) {
    for (const size_t borrowers : {1u, 2u, 3u, 64u, 192u}) {
      Stock stock(Stock::count_for(alone, borrowers));
      for (size_t i = 0; i < borrowers; ++i) stock.join();
      Portion& last = stock.join();  // one more than was said still has some
      EXPECT_GE(last.room(), 1u) << alone << " " << borrowers;
    }
    EXPECT_EQ(Stock::count_for(alone, 1), alone);
  }
  EXPECT_LE(Stock::count_for(64, 64), 2u * 64u);
}

// Against the sums themselves: nobody is refused his part, and there is never more lent than is.
RC_GTEST_PROP(StockProperty, never_lends_more_than_it_has_nor_denies_a_part,
              (const std::vector<uint8_t>& steps)) {
  Stock stock(*rc::gen::inRange<uint32_t>(1, 100));
  std::vector<Portion*> borrowers;
  const auto count = *rc::gen::inRange<uint32_t>(1, 9);
  while (borrowers.size() < count) borrowers.push_back(&stock.join());
  std::vector<size_t> held(count);
  for (const uint8_t step : steps) {
    const size_t who = step / 16 % count, many = step % 8;
    Portion& borrower = *borrowers[who];
    if ((step & 8) != 0) {
      const size_t back = std::min(many, held[who]);
      borrower.give_back(back);
      held[who] -= back;
    } else if (borrower.has_room(many)) {
      borrower.take(many);
      held[who] += many;
    } else {
      RC_ASSERT(held[who] + many > borrower.own());
    }
    size_t sum = 0;
    for (size_t i = 0; i < count; ++i) {
      RC_ASSERT(borrowers[i]->held() == held[i]);
      sum += held[i];
    }
    RC_ASSERT(sum == stock.held() && sum <= stock.count());
  }
}

}  // namespace
}  // namespace cw
