// A seed is a run: the same packets, to the nanosecond, every time. Whatever a policy knows, it was
// told.
#include "tests/conformance/checks.h"
#include "tests/conformance/story.h"

namespace cw::conformance {
namespace {
using namespace literals;

uint64_t trace_of(const Candidate& candidate, uint64_t messages) {
  Story story(candidate, {.seed = 31, .messages = messages, .wire = {.loss = 0.05, .delay = 5_ms}});
  story.run_for(500_ms);
  return story.network().trace_hash();
}

}  // namespace

Verdict check_same_seed(const Candidate& candidate, const Scale& run) {
  const uint64_t first = trace_of(candidate, run.messages);
  const uint64_t second = trace_of(candidate, run.messages);
  if (first == second) return std::nullopt;
  return Refusal{Property::SameSeedSameTrace, "two runs of one seed differ"};
}

TEST_P(EveryPolicy, sends_the_same_packets_when_a_seed_is_run_again) {
  EXPECT_TRUE(accepts(check_same_seed(GetParam(), scale)));
}

}  // namespace cw::conformance
