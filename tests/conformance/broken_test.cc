// The suite itself, tested: the candidates, and that every broken policy is refused for what it
// lacks and for nothing else.
#include "tests/conformance/broken/broken.h"

namespace cw::conformance {
namespace {

constexpr Verdict (*checks[])(const Candidate&, const Scale&) = {
    check_no_loss,   check_loss_then_calm, check_same_seed,  check_idle, check_hostile_notes,
    check_destroyed, check_drain,          check_wrap,       check_skew, check_range_cost,
    check_complete,  check_kept,           check_code_bounds};

std::vector<Refusal> refusals_of(const cw_policy_ops& ops) {
  // A share of 1 % hides the few resends of a policy whose fault is another.
  const Candidate candidate{
      ops.name,
      &ops,
      {.policy = ops.name, .spurious_share_max = 0.01, .decisions_per_note_max = 128}};
  std::vector<Refusal> refusals;
  for (const auto check : checks) {
    if (Verdict verdict = check(candidate, small_scale)) refusals.push_back(*verdict);
  }
  return refusals;
}

class BrokenPolicy : public testing::TestWithParam<broken::Broken> {};

TEST_P(BrokenPolicy, is_refused_for_what_it_lacks_and_for_nothing_else) {
  const std::vector<Refusal> refusals = refusals_of(*GetParam().table());
  for (const Refusal& refusal : refusals) {
    EXPECT_EQ(refusal.property, GetParam().lacks) << refusal.sentence;
    EXPECT_NE(refusal.sentence.find(GetParam().reason), std::string::npos) << refusal.sentence;
  }
  EXPECT_EQ(refusals.size(), 1u);
}

TEST(BrokenPolicies, are_made_from_one_that_lacks_nothing) {
  for (const Refusal& refusal : refusals_of(*broken::plain())) ADD_FAILURE() << refusal.sentence;
}

TEST(BrokenPolicies, lack_every_property_once) {
  std::vector<Property> lacked;
  for (const broken::Broken& broken : broken::all) lacked.push_back(broken.lacks);
  std::vector<Property> every;
  for (size_t i = 0; i < std::size(checks); ++i) every.push_back(static_cast<Property>(i));
  EXPECT_EQ(lacked, every);
}

INSTANTIATE_TEST_SUITE_P(Conformance, BrokenPolicy, testing::ValuesIn(broken::all),
                         [](const auto& broken) { return broken.param.table()->name; });
INSTANTIATE_TEST_SUITE_P(Conformance, EveryPolicy, testing::ValuesIn(candidates()),
                         [](const auto& candidate) { return candidate.param.name; });

}  // namespace
}  // namespace cw::conformance
