// Notes are bytes from somebody else. Whatever they say, nothing crashes, no byte is wrong, and
// what they can make a policy do is bounded by what it has declared.
#include "tests/conformance/checks.h"
#include "tests/conformance/meddling.h"
#include "tests/conformance/story.h"

namespace cw::conformance {
namespace {
using namespace literals;

std::optional<std::string> complaint_of(const Candidate& candidate, uint64_t seed,
                                        uint64_t messages) {
  Meddling meddling(*candidate.ops, seed);
  Candidate lied_to = candidate;
  lied_to.ops = &meddling.table();
  Story story(lied_to, {.seed = seed, .messages = messages, .wire = {.loss = 0.05, .delay = 5_ms}});
  story.run_for(1_s);
  if (const auto complaint = story.stage().complaint()) return complaint;
  if (story.quarantines() > 0) return "lies have led to quarantine";
  if (meddling.notes_forged() < 100) return "too few notes were forged to tell anything";
  // A fact and the note slipped in behind it are two calls.
  const uint64_t bound = 2 * candidate.traits.decisions_per_note_max;
  if (meddling.decisions_max() <= bound) return std::nullopt;
  return "a note caused " + std::to_string(meddling.decisions_max()) + " decisions; " +
         std::to_string(bound / 2) + " are the most";
}

}  // namespace

Verdict check_hostile_notes(const Candidate& candidate, const Scale& run) {
  for (uint64_t seed = 51; seed < 51 + run.seeds; ++seed) {
    if (const auto complaint = complaint_of(candidate, seed, run.messages)) {
      return Refusal{Property::HostileNotesBounded, *complaint};
    }
  }
  return std::nullopt;
}

TEST_P(EveryPolicy, is_not_harmed_by_hostile_notes) {
  EXPECT_TRUE(accepts(check_hostile_notes(GetParam(), scale)));
}

}  // namespace cw::conformance
