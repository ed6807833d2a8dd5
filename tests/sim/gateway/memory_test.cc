#include <gtest/gtest.h>

#include "tests/sim/gateway/site_memory.h"

namespace cw::sim {
namespace {

TEST(SiteMemory, of_many_peers_is_at_most_twice_that_of_one_at_the_same_rate) {
  count_exactly();
  const SiteMemory one = SiteMemory::of(1), many = SiteMemory::of(64);
  EXPECT_LE(many.bytes, 2 * one.bytes);
  for (const SiteMemory& each : {one, many}) {
    EXPECT_NEAR(double(each.said), double(each.bytes), double(each.bytes) / 10);
  }
}

}  // namespace
}  // namespace cw::sim
