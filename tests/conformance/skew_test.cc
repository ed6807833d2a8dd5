// Paths of different lengths bring slots out of order. That is not loss, and what is resent for it
// stays below the share that the policy's row states.
#include "tests/conformance/checks.h"
#include "tests/conformance/story.h"

namespace cw::conformance {
namespace {
using namespace literals;

constexpr uint16_t paths = 3;

void spread(Story& story) {
  for (uint16_t path = 0; path < paths; ++path) {
    const Impairment wire{.delay = 5_ms + 1_ms * path};
    story.network().set_impairment(story.source_port(), {story.sink_number(), path}, wire);
  }
}

}  // namespace

Verdict check_skew(const Candidate& candidate, const Scale& run) {
  Story story(candidate, {.seed = 81, .messages = run.messages, .paths = paths});
  spread(story);
  story.run_to_end(60_s);
  if (const auto complaint = story.complaint_of_delivery()) {
    return Refusal{Property::SkewIsNotLoss, *complaint};
  }
  const double share =
      static_cast<double>(story.resends()) / static_cast<double>(story.data_slots());
  if (share <= candidate.traits.spurious_share_max) return std::nullopt;
  return Refusal{Property::SkewIsNotLoss, std::to_string(share) +
                                              " resends per slot, and none was lost; stated are " +
                                              std::to_string(candidate.traits.spurious_share_max)};
}

TEST_P(EveryPolicy, does_not_take_skew_between_paths_for_loss) {
  EXPECT_TRUE(accepts(check_skew(GetParam(), scale)));
}

}  // namespace cw::conformance
