// A line that wanders, in half a minute.
#include "tests/sim/gateway/adapt_wander.h"

namespace cw::sim {
namespace {

using namespace literals;

TEST(AdaptWander, is_near_the_best_of_each_phase) { expect_near_best({.every = 8_ms}, 40_s); }

}  // namespace
}  // namespace cw::sim
