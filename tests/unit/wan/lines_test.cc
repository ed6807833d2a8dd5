#include "control/units/lines.h"

#include <gtest/gtest.h>

namespace cw {
namespace {

TEST(Lines, come_out_whole_however_they_come_in) {
  Lines lines(8);
  lines.take("on");
  EXPECT_FALSE(lines.has_next());
  EXPECT_EQ(lines.next(), std::nullopt);
  lines.take("e\n\ntw");
  EXPECT_TRUE(lines.has_next());
  EXPECT_EQ(lines.next(), "one");
  EXPECT_EQ(lines.next(), "");
  EXPECT_EQ(lines.next(), std::nullopt);
  lines.take("o\n");
  EXPECT_EQ(lines.next(), "two");
}

TEST(Lines, are_full_beyond_the_longest) {
  Lines lines(3);
  lines.take("abc");
  EXPECT_FALSE(lines.is_full());
  lines.take("d");
  EXPECT_TRUE(lines.is_full() && !lines.has_next());
  lines.clear();
  EXPECT_FALSE(lines.is_full());
}

}  // namespace
}  // namespace cw
