// What is asked of every policy. One check per property; each lives beside its test and answers
// with a verdict, so that code_test.cc can ask whether a policy of tests/conformance/broken, which
// lacks exactly one property, is refused for exactly that reason.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

#include "tests/conformance/candidate.h"

namespace cw::conformance {

enum class Property {
  NoLossNoResend,
  LossThenCalm,
  SameSeedSameTrace,
  IdleHasNoTimer,
  HostileNotesBounded,
  NothingLeaks,
  DrainEnds,
  SequencesWrap,
  SkewIsNotLoss,
  RangeCostsAsOne,
  CompleteMeansWhole,
  WhatArrivedIsKept,
  CodesWithinBounds,
};

/// Why a policy was refused.
struct Refusal {
  Property property;
  std::string sentence;
};
using Verdict = std::optional<Refusal>;

/// How much is run. Sanitizers and debug builds are slow; the properties are the same.
struct Scale {
  uint64_t messages = 200;
  uint64_t wrap_messages = 100'000;
  uint32_t moments = 24;  ///< at which a run is stopped and destroyed
  uint32_t seeds = 2;
};
inline constexpr Scale small_scale = {
    .messages = 60, .wrap_messages = 2'000, .moments = 8, .seeds = 1};
#ifdef CW_CONFORMANCE_SMALL
inline constexpr Scale scale = small_scale;
#else
inline constexpr Scale scale = {};
#endif

Verdict check_no_loss(const Candidate& candidate, const Scale& scale);
Verdict check_loss_then_calm(const Candidate& candidate, const Scale& scale);
Verdict check_same_seed(const Candidate& candidate, const Scale& scale);
Verdict check_idle(const Candidate& candidate, const Scale& scale);
Verdict check_hostile_notes(const Candidate& candidate, const Scale& scale);
Verdict check_destroyed(const Candidate& candidate, const Scale& scale);
Verdict check_drain(const Candidate& candidate, const Scale& scale);
Verdict check_wrap(const Candidate& candidate, const Scale& scale);
Verdict check_skew(const Candidate& candidate, const Scale& scale);
Verdict check_range_cost(const Candidate& candidate, const Scale& scale);
// Of policies that code; of others nothing is asked.
Verdict check_complete(const Candidate& candidate, const Scale& scale);
Verdict check_kept(const Candidate& candidate, const Scale& scale);
Verdict check_code_bounds(const Candidate& candidate, const Scale& scale);

/// The tests: one per property and candidate.
class EveryPolicy : public testing::TestWithParam<Candidate> {};

inline void PrintTo(const Candidate& candidate, std::ostream* out) { *out << candidate.name; }

inline testing::AssertionResult accepts(const Verdict& verdict) {
  if (!verdict) return testing::AssertionSuccess();
  return testing::AssertionFailure() << verdict->sentence;
}

}  // namespace cw::conformance
