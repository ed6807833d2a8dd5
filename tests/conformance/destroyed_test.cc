// A stream may end at any moment, and then nothing of its policy is left in memory.
#include "tests/conformance/checks.h"
#include "tests/conformance/story.h"
#include "tests/sim/checkers/heap_watch.h"

namespace cw::conformance {
namespace {
using namespace literals;

void run_and_destroy(const Candidate& candidate, uint64_t seed, uint64_t turns) {
  Story story(candidate, {.seed = seed, .messages = 40, .wire = {.loss = 0.1, .delay = 1_ms}});
  story.stage().run_until([&] { return story.stage().turn_count() >= turns; },
                          story.network().now() + 10_s);
}

}  // namespace

Verdict check_destroyed(const Candidate& candidate, const Scale& run) {
  Prng prng(61);
  for (uint32_t moment = 0; moment < run.moments; ++moment) {
    const uint64_t turns = prng.below(1500);
    const int64_t before = sim::HeapWatch::live_count();
    run_and_destroy(candidate, moment + 1, turns);
    const int64_t left = sim::HeapWatch::live_count() - before;
    if (left == 0) continue;
    return Refusal{Property::NothingLeaks,
                   std::to_string(left) +
                       " pieces of memory were left when the run was ended at turn " +
                       std::to_string(turns)};
  }
  return std::nullopt;
}

TEST_P(EveryPolicy, leaks_nothing_when_it_is_destroyed_in_any_state) {
  EXPECT_TRUE(accepts(check_destroyed(GetParam(), scale)));
}

}  // namespace cw::conformance
