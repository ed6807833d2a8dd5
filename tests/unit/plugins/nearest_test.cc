#include "plugins/nearest.h"

#include <gtest/gtest.h>

#include <array>

namespace cw::plugins {
namespace {

TEST(Nearest, counts_edits) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(edit_distance("alpha", "alpha"), 0u);
  EXPECT_EQ(edit_distance("alfa", "alpha"), 2u);
  EXPECT_EQ(edit_distance("alhpa", "alpha"), 1u);  // neighbours swapped
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(Nearest, asks_for_the_name_that_was_probably_meant) {
  const std::array<std::string_view, 3> known = {"passthrough", "go_back_n", "selective_repeat"};
  EXPECT_EQ(advice("selective_repaet", known), "did you mean \"selective_repeat\"?");
  EXPECT_EQ(advice("go_back", known), "did you mean \"go_back_n\"?");
  EXPECT_EQ(advice("fountain", known), "write passthrough, go_back_n or selective_repeat");
}

TEST(Nearest, does_not_guess_at_short_names) {
  const std::array<std::string_view, 2> known = {"k", "m"};
  EXPECT_EQ(advice("beta", known), "write k or m");
}

}  // namespace
}  // namespace cw::plugins
