// When nothing is under way nothing runs: no timer of a policy is armed at either end.
#include "dataplane/sdr/stream/recv/recv_stream.h"
#include "dataplane/sdr/stream/send/send_stream.h"
#include "tests/conformance/checks.h"
#include "tests/conformance/story.h"

namespace cw::conformance {
namespace {
using namespace literals;

/// Every timer of both policies: of both directions at both sites.
bool has_timer(Story& story) {
  for (sim::Site* site : {&story.source(), &story.sink()}) {
    if (site->send_stream().seat().next_due() != Instant::never()) return true;
    if (site->recv_stream().seat().next_due() != Instant::never()) return true;
  }
  return false;
}

}  // namespace

Verdict check_idle(const Candidate& candidate, const Scale& run) {
  const double loss = candidate.traits.repairs ? 0.02 : 0;
  Story story(candidate,
              {.seed = 41, .messages = run.messages, .wire = {.loss = loss, .delay = 5_ms}});
  story.run_to_end(60_s);
  story.network().set_all_impairments({.delay = 5_ms});
  // Long enough for whatever still wanted to be said.
  story.run_for(5_s);
  if (!has_timer(story)) return std::nullopt;
  return Refusal{Property::IdleHasNoTimer,
                 "a timer was armed five seconds after the last message was settled"};
}

TEST_P(EveryPolicy, leaves_no_timer_behind_when_all_is_settled) {
  EXPECT_TRUE(accepts(check_idle(GetParam(), scale)));
}

}  // namespace cw::conformance
