#include "control/ctl/show/table.h"

#include <gtest/gtest.h>

namespace cw::ctl {
namespace {

TEST(Table, is_as_wide_as_what_stands_in_it) {
  const Json rows = {{{"name", "north"}, {"count", 1234567}}, {{"name", "s\u00fcd"}, {"count", 8}}};
  EXPECT_EQ(table(rows, {text_column("site", "name"), number_column("frames", "count"),
                         text_column("why", "why")}),
            "site      frames  why\n"
            "north  1,234,567  -\n"
            "s\u00fcd            8  -\n");
}

TEST(Table, of_nothing_says_so) {
  EXPECT_EQ(table(Json::array(), {text_column("a", "a")}), "none\n");
}

TEST(Table, reaches_into_rows_and_writes_lists_and_shares) {
  const Json rows = {{{"policy", {{"out", "hybrid"}}}, {"all", {"a", "b"}}, {"share", 0.0125}}};
  EXPECT_EQ(table(rows, {text_column("by", "policy.out"), text_column("all", "all"),
                         percent_column("loss", "share")}),
            "by      all     loss\n"
            "hybrid  a, b  1.25 %\n");
}

TEST(Table, writes_numbers_for_people) {
  EXPECT_EQ(number_text(Json(-1234.5), 1), "-1,234.5");
  EXPECT_EQ(number_text(Json(999)), "999");
  EXPECT_EQ(number_text(Json(1000)), "1,000");
  EXPECT_EQ(number_text(Json("none")), "none");
}

}  // namespace
}  // namespace cw::ctl
