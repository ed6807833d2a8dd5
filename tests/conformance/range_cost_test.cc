// What is decided about a range is one decision, however long the range is.
#include "tests/conformance/checks.h"
#include "tests/unit/policies/scripted_host.h"

namespace cw::conformance {
namespace {
using namespace literals;

constexpr uint32_t many = 300'000;
constexpr uint32_t slots_max = 1u << 19;

/// Decisions of both ends for one message that leaves and arrives as one burst.
uint64_t decisions_for(const Candidate& candidate, uint32_t slots, bool is_lost) {
  policy_test::Line line{.slot_time = 1_ns, .burst = many};
  line.is_coded = false;  // a block is a thing of its own, and costs by itself
  line.is_lost = [=](const policy_test::Transmission&) { return is_lost; };
  policy_test::Host host(*candidate.ops, candidate.traits.params, line, 16, slots_max);
  host.send(7, slots);
  // Two RTTs and a little: before anybody could ask about a slot that never arrived.
  host.run(host.now() + 60_ms);
  return host.decisions;
}

}  // namespace

Verdict check_range_cost(const Candidate& candidate, const Scale&) {
  for (const bool is_lost : {false, true}) {
    const uint64_t one = decisions_for(candidate, 1, is_lost);
    const uint64_t all = decisions_for(candidate, many, is_lost);
    if (one == all) continue;
    return Refusal{Property::RangeCostsAsOne, std::to_string(all) + " decisions for " +
                                                  std::to_string(many) + " slots and " +
                                                  std::to_string(one) + " for one"};
  }
  return std::nullopt;
}

TEST_P(EveryPolicy, decides_about_300000_slots_as_about_one) {
  EXPECT_TRUE(accepts(check_range_cost(GetParam(), scale)));
}

}  // namespace cw::conformance
