#include <gtest/gtest.h>

#include "tests/sim/gateway/site_memory.h"

namespace cw::sim {
namespace {

// Peers have tables of their own: rings of their pacers and policies, buckets of flows.
TEST(SiteMemory, follows_from_the_rate_and_hardly_from_the_number_of_peers) {
  constexpr uint64_t own_bytes_max = 10 << 20;
  const SiteMemory one = SiteMemory::of(1), many = SiteMemory::of(64);
  EXPECT_LE(many.bytes, 2 * one.bytes + 63 * own_bytes_max);
  EXPECT_LE(many.said, 2 * one.said);
}

}  // namespace
}  // namespace cw::sim
