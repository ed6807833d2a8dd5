// Whatever the link does for a while, everything has arrived soon after it stops.
#include "tests/conformance/checks.h"
#include "tests/conformance/story.h"

namespace cw::conformance {
namespace {
using namespace literals;

constexpr Duration delay = 5_ms;

struct Fault {
  const char* name;
  Impairment wire;
};

std::vector<Fault> faults() {
  Impairment disorder{.loss = 0.02, .corrupt = 0.005, .duplicate = 0.05, .delay = delay};
  disorder.jitter_max = 2_ms;
  disorder.jitter_reorders = true;
  return {
      {"a quarter of the packets lost", {.loss = 0.25, .delay = delay}},
      {"losses in bursts",
       {.gilbert_elliott = GilbertElliott::from_burst(20, 0.1), .delay = delay}},
      {"loss, damage, copies and disorder", disorder},
      {"darkness", {.loss = 1, .delay = delay}},
  };
}

std::optional<std::string> complaint_of(const Candidate& candidate, const Fault& fault,
                                        uint64_t seed, uint64_t messages) {
  Story story(candidate, {.seed = seed, .messages = messages});
  story.run_for(15_ms);  // the link is up and traffic flows
  story.network().set_all_impairments(fault.wire);
  story.run_for(300_ms);
  story.network().set_all_impairments({.delay = delay});
  story.run_to_end(20_s);
  const auto complaint = story.complaint_of_delivery();
  if (!complaint) return std::nullopt;
  return "after " + std::string(fault.name) + ", seed " + std::to_string(seed) + ": " + *complaint;
}

}  // namespace

Verdict check_loss_then_calm(const Candidate& candidate, const Scale& run) {
  if (!candidate.traits.repairs) return std::nullopt;
  for (const Fault& fault : faults()) {
    for (uint64_t seed = 1; seed <= run.seeds; ++seed) {
      if (const auto complaint = complaint_of(candidate, fault, seed, run.messages)) {
        return Refusal{Property::LossThenCalm, *complaint};
      }
    }
  }
  return std::nullopt;
}

namespace {

std::vector<Candidate> candidates_that_repair() {
  std::vector<Candidate> all = candidates();
  std::erase_if(all, [](const Candidate& candidate) { return !candidate.traits.repairs; });
  return all;
}

class EveryRepairingPolicy : public EveryPolicy {};
INSTANTIATE_TEST_SUITE_P(Conformance, EveryRepairingPolicy,
                         testing::ValuesIn(candidates_that_repair()),
                         [](const auto& candidate) { return candidate.param.name; });

TEST_P(EveryRepairingPolicy, delivers_everything_once_the_faults_are_over) {
  EXPECT_TRUE(accepts(check_loss_then_calm(GetParam(), scale)));
}

}  // namespace
}  // namespace cw::conformance
