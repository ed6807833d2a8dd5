// When a budget is news.
#include "dataplane/sdr/seat/budget_watch.h"

#include <gtest/gtest.h>

namespace cw::sdr {
namespace {

TEST(BudgetWatch, tells_the_first_and_then_what_has_changed_by_a_quarter) {
  BudgetWatch watch;
  EXPECT_TRUE(watch.is_news({}));
  EXPECT_FALSE(watch.is_news({}));
  const cw_fact_budget budget{.backlog_ns = 1000, .slot_credit = 100, .repair_bytes = 4000};
  EXPECT_TRUE(watch.is_news(budget)) << "from nothing";
  EXPECT_FALSE(watch.is_news(budget));
  EXPECT_FALSE(watch.is_news({.backlog_ns = 1333, .slot_credit = 75, .repair_bytes = 3000}));
  EXPECT_TRUE(watch.is_news({.backlog_ns = 1334, .slot_credit = 100, .repair_bytes = 4000}));
  EXPECT_TRUE(watch.is_news({.backlog_ns = 1334, .slot_credit = 74, .repair_bytes = 4000}));
  EXPECT_TRUE(watch.is_news({.backlog_ns = 1334, .slot_credit = 74, .repair_bytes = 2999}));
  EXPECT_TRUE(watch.is_news({.backlog_ns = 1334, .slot_credit = 0, .repair_bytes = 2999}));
}

TEST(BudgetWatch, small_steps_add_up_to_news) {
  BudgetWatch watch;
  int told = 0;
  for (uint64_t credit = 1000; credit > 0; --credit) told += watch.is_news({.slot_credit = credit});
  EXPECT_GT(told, 10);
  EXPECT_LT(told, 40);
}

TEST(BudgetWatch, a_new_instance_is_told_anew) {
  BudgetWatch watch;
  EXPECT_TRUE(watch.is_news({.slot_credit = 5}));
  watch.forget();
  EXPECT_TRUE(watch.is_news({.slot_credit = 5}));
}

}  // namespace
}  // namespace cw::sdr
