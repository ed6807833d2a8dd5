// A link that loses nothing costs nothing: no slot leaves twice, and every byte is the sender's.
#include "tests/conformance/checks.h"
#include "tests/conformance/story.h"

namespace cw::conformance {
using namespace literals;

Verdict check_no_loss(const Candidate& candidate, const Scale& run) {
  Story story(candidate, {.seed = 11, .messages = run.messages});
  story.run_to_end(60_s);
  if (const auto complaint = story.complaint_of_delivery()) {
    return Refusal{Property::NoLossNoResend, *complaint};
  }
  if (story.resends() == 0) return std::nullopt;
  return Refusal{Property::NoLossNoResend,
                 std::to_string(story.resends()) + " slots were resent, and none was lost"};
}

TEST_P(EveryPolicy, resends_nothing_without_loss_and_delivers_equal_bytes) {
  EXPECT_TRUE(accepts(check_no_loss(GetParam(), scale)));
}

}  // namespace cw::conformance
