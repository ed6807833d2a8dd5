#include "control/config/nearest.h"

#include <gtest/gtest.h>

#include <vector>

namespace cw::config {
namespace {

const std::vector<std::string> known = {"delay", "loss", "rate", "reorder_delay", "jitter_max"};

TEST(Nearest, a_slip_finds_the_name_that_was_meant) {
  EXPECT_EQ(nearest("dealy", known), "delay");  // neighbours swapped: one slip
  EXPECT_EQ(nearest("los", known), "loss");
  EXPECT_EQ(nearest("rates", known), "rate");
  EXPECT_EQ(nearest("jiter_max", known), "jitter_max");
  EXPECT_EQ(nearest("dely", known), "delay");
  EXPECT_EQ(nearest("reorder_dly", known), "reorder_delay");
}

TEST(Nearest, what_is_far_from_every_name_finds_none) {
  EXPECT_EQ(nearest("bandwidth", known), "");
  EXPECT_EQ(nearest("xyz", known), "");
  EXPECT_EQ(nearest("", known), "");
  EXPECT_EQ(nearest("delay", {}), "");
}

}  // namespace
}  // namespace cw::config
