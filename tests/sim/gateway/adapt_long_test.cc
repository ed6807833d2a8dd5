// The same line with other chance, for as long as it takes to know p99.9 well.
#include "tests/sim/gateway/adapt_wander.h"

namespace cw::sim {
namespace {

using namespace literals;

class AdaptWanderLong : public testing::TestWithParam<uint64_t> {};

TEST_P(AdaptWanderLong, is_near_the_best_of_each_phase) {
  expect_near_best({.seed = GetParam(), .every = 6_ms}, 120_s);
}
INSTANTIATE_TEST_SUITE_P(Seeds, AdaptWanderLong, testing::Range<uint64_t>(1, 5));

}  // namespace
}  // namespace cw::sim
