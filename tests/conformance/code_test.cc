// What every code must do, and who does not.
#include <set>

#include "dataplane/base/prng.h"
#include "tests/conformance/broken/broken.h"
#include "tests/conformance/checks.h"
#include "tests/conformance/story.h"
#include "tests/unit/policies/scripted_host.h"

namespace cw::conformance {
namespace {
using namespace literals;
using policy_test::Host;
using policy_test::Line;
using policy_test::Transmission;

// ---- code ----
// What is asked of policies that code: a message is complete when it is whole, a fallback keeps
// what there is, and what is coded has a shape that can be coded.

constexpr uint32_t message_slots = 700;

/// Of a slot on its first way.
Line losing(double share, uint64_t seed) {
  Line line{.reorder = 100_us};
  line.is_lost = [=](const Transmission& t) {
    Prng prng(seed * 1'000'003 + t.slot * 1'009 + t.message);
    return t.attempt == 0 && prng.chance(share);
  };
  return line;
}

bool codes(const Candidate& candidate) {
  Host host(*candidate.ops, candidate.traits.params);
  return host.has_blocks();
}

/// Messages in pieces, and blocks closed by their age now and then.
void send_in_pieces(Host& host, uint64_t seed) {
  Prng prng(seed);
  for (uint32_t message = 0; message < 4; ++message) host.open(message);
  for (uint32_t sent = 0; sent < message_slots; sent += 20) {
    for (uint32_t message = 0; message < 4; ++message) {
      host.append(message, sent, 20);
      if (prng.chance(0.3)) host.close_block(message);
    }
    host.run(host.now() + 200_us);
  }
  for (uint32_t message = 0; message < 4; ++message) host.close(message, message_slots);
  host.run();
}

}  // namespace

Verdict check_complete(const Candidate& candidate, const Scale& run) {
  if (!codes(candidate)) return std::nullopt;
  for (uint64_t seed = 1; seed <= 5 * run.seeds; ++seed) {
    Host host(*candidate.ops, candidate.traits.params, losing(0.04 * seed, seed));
    for (uint32_t message = 0; message < 4; ++message) host.send(message, message_slots);
    host.run();
    if (host.finished_with_holes == 0) continue;
    return Refusal{Property::CompleteMeansWhole,
                   std::to_string(host.finished_with_holes) +
                       " of 4 messages were called complete with holes"};
  }
  return std::nullopt;
}

Verdict check_kept(const Candidate& candidate, const Scale& run) {
  if (!codes(candidate)) return std::nullopt;
  for (uint64_t seed = 1; seed <= 5 * run.seeds; ++seed) {
    const Line line = losing(0.3, seed);
    Host host(*candidate.ops, candidate.traits.params, line);
    for (uint32_t message = 0; message < 4; ++message) host.send(message, message_slots);
    host.run();
    size_t again = 0;
    for (const Transmission& t : host.resent()) {
      again += !line.is_lost({t.message, t.slot, 0, CW_SEND_DATA, {}});
    }
    if (again == 0) continue;
    return Refusal{Property::WhatArrivedIsKept,
                   std::to_string(again) + " slots were resent that had arrived"};
  }
  return std::nullopt;
}

Verdict check_code_bounds(const Candidate& candidate, const Scale& run) {
  if (!codes(candidate)) return std::nullopt;
  for (uint64_t seed = 1; seed <= run.seeds; ++seed) {
    Host host(*candidate.ops, candidate.traits.params, losing(0.05, seed));
    send_in_pieces(host, seed);
    if (host.codes_out_of_bounds == 0) continue;
    return Refusal{Property::CodesWithinBounds, std::to_string(host.codes_out_of_bounds) +
                                                    " code decisions break the rule for shapes"};
  }
  return std::nullopt;
}

namespace {

/// Over two sites that really code: messages of several blocks, losses of every kind.
std::string rebuilt_by(const Candidate& candidate, const Impairment& wire) {
  Story story(candidate, {.seed = 91,
                          .messages = 60,
                          .bytes_of = [](uint64_t i) { return 60'000 + i * 7919 % 200'000; },
                          .wire = wire});
  story.run_to_end(60_s);
  if (const auto complaint = story.complaint_of_delivery()) return *complaint;
  const auto at_source = [&](Counter counter) {
    return story.source().counters().read_any_thread(counter);
  };
  const uint64_t rebuilt = story.sink().counters().read_any_thread(Counter::slots_rebuilt);
  if (at_source(Counter::repairs_sent) == 0) return "no repair was sent";
  if (rebuilt == 0) return "nothing was rebuilt";
  if (story.quarantines() > 0) return "a policy was quarantined";
  return "";
}

std::vector<Candidate> candidates_that_code() {
  std::vector<Candidate> all = candidates();
  std::erase_if(all, [](const Candidate& candidate) { return !candidate.traits.codes; });
  return all;
}

class EveryCodingPolicy : public EveryPolicy {};
// A policy from outside the tree may code nothing.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(EveryCodingPolicy);
INSTANTIATE_TEST_SUITE_P(Conformance, EveryCodingPolicy, testing::ValuesIn(candidates_that_code()),
                         [](const auto& candidate) { return candidate.param.name; });

TEST_P(EveryCodingPolicy, rebuilds_over_two_sites_what_is_lost_between_them) {
  Impairment bursts{.delay = 5_ms};
  bursts.gilbert_elliott = GilbertElliott::from_burst(6, 0.02);
  Impairment disorder{.loss = 0.01, .duplicate = 0.02, .delay = 5_ms};
  disorder.jitter_max = 1_ms;
  disorder.jitter_reorders = true;
  EXPECT_EQ(rebuilt_by(GetParam(), {.loss = 0.02, .delay = 5_ms}), "");
  EXPECT_EQ(rebuilt_by(GetParam(), bursts), "");
  EXPECT_EQ(rebuilt_by(GetParam(), disorder), "");
}

}  // namespace

TEST_P(EveryPolicy, calls_nothing_complete_that_has_holes) {
  EXPECT_TRUE(accepts(check_complete(GetParam(), scale)));
}

TEST_P(EveryPolicy, keeps_what_arrived_when_a_code_is_not_enough) {
  EXPECT_TRUE(accepts(check_kept(GetParam(), scale)));
}

TEST_P(EveryPolicy, codes_within_the_bounds_of_its_stream) {
  EXPECT_TRUE(accepts(check_code_bounds(GetParam(), scale)));
}

namespace {

// ---- broken ----
// The suite itself, tested: the candidates, and that every broken policy is refused for what it
// lacks and for nothing else.

struct Broken {
  const cw_policy_ops* (*table)();
  Property lacks;
  const char* reason;  ///< a part of the sentence that it must be refused with
};

constexpr Broken all_broken[] = {
    {&broken::resends_for_luck, Property::NoLossNoResend, "and none was lost"},
    {&broken::tries_twice, Property::LossThenCalm, "after a quarter of the packets lost"},
    {&broken::remembers_other_runs, Property::SameSeedSameTrace, "two runs of one seed differ"},
    {&broken::keeps_a_timer, Property::IdleHasNoTimer, "a timer was armed"},
    {&broken::obeys_every_note, Property::HostileNotesBounded, "decisions; 128 are the most"},
    {&broken::forgets_its_memory, Property::NothingLeaks, "pieces of memory were left"},
    {&broken::ignores_drains, Property::DrainEnds, "were open when the time to drain was over"},
    {&broken::compares_plainly, Property::SequencesWrap, "across the wrap"},
    {&broken::takes_skew_for_loss, Property::SkewIsNotLoss, "resends per slot"},
    {&broken::counts_slots, Property::RangeCostsAsOne, "decisions for 300000 slots"},
    {&broken::trusts_in_numbers, Property::CompleteMeansWhole, "called complete with holes"},
    {&broken::throws_away, Property::WhatArrivedIsKept, "had arrived"},
    {&broken::takes_blocks_for_full, Property::CodesWithinBounds, "break the rule"},
};

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

class BrokenPolicy : public testing::TestWithParam<Broken> {};

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
  for (const Broken& each : all_broken) lacked.push_back(each.lacks);
  std::vector<Property> every;
  for (size_t i = 0; i < std::size(checks); ++i) every.push_back(static_cast<Property>(i));
  EXPECT_EQ(lacked, every);
}

INSTANTIATE_TEST_SUITE_P(Conformance, BrokenPolicy, testing::ValuesIn(all_broken),
                         [](const auto& each) { return each.param.table()->name; });
INSTANTIATE_TEST_SUITE_P(Conformance, EveryPolicy, testing::ValuesIn(candidates()),
                         [](const auto& candidate) { return candidate.param.name; });

}  // namespace

}  // namespace cw::conformance
