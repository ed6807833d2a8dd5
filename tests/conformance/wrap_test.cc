// A stream outlives its numbers: small messages in a row, through few places, across the wrap of
// their sequence.
#include "tests/conformance/checks.h"
#include "tests/conformance/story.h"

namespace cw::conformance {
using namespace literals;

Verdict check_wrap(const Candidate& candidate, const Scale& run) {
  const double loss = candidate.traits.repairs ? 0.0005 : 0;
  Story story(candidate, {.seed = 71,
                          .messages = run.wrap_messages,
                          .bytes_of = [](uint64_t) { return uint64_t{64}; },
                          .wire = {.loss = loss, .delay = 100_us},
                          // So fast that many packets share a turn.
                          .rate = Rate::from_gbps(1000),
                          .places = 256,
                          .first_seq = MessageSeq() - run.wrap_messages / 2});
  story.run_to_end(5_s);
  const auto complaint = story.complaint_of_delivery();
  if (!complaint) return std::nullopt;
  return Refusal{Property::SequencesWrap, "across the wrap: " + *complaint};
}

TEST_P(EveryPolicy, carries_messages_across_the_wrap_of_their_sequence) {
  EXPECT_TRUE(accepts(check_wrap(GetParam(), scale)));
}

}  // namespace cw::conformance
