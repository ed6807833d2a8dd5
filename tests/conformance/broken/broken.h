// One policy per property that lacks this property and no other. They show that the suite can
// refuse, and that it refuses for the right reason.
#pragma once

#include "tests/conformance/checks.h"

namespace cw::conformance::broken {

const cw_policy_ops* plain();  ///< healthy

const cw_policy_ops* resends_for_luck();
const cw_policy_ops* tries_twice();
const cw_policy_ops* remembers_other_runs();
const cw_policy_ops* keeps_a_timer();
const cw_policy_ops* obeys_every_note();
const cw_policy_ops* forgets_its_memory();
const cw_policy_ops* ignores_drains();
const cw_policy_ops* compares_plainly();
const cw_policy_ops* takes_skew_for_loss();
const cw_policy_ops* counts_slots();
const cw_policy_ops* trusts_in_numbers();
const cw_policy_ops* throws_away();
const cw_policy_ops* takes_blocks_for_full();

struct Broken {
  const cw_policy_ops* (*table)();
  Property lacks;
  const char* reason;  ///< a part of the sentence that it must be refused with
};

inline constexpr Broken all[] = {
    {&resends_for_luck, Property::NoLossNoResend, "and none was lost"},
    {&tries_twice, Property::LossThenCalm, "after a quarter of the packets lost"},
    {&remembers_other_runs, Property::SameSeedSameTrace, "two runs of one seed differ"},
    {&keeps_a_timer, Property::IdleHasNoTimer, "a timer was armed"},
    {&obeys_every_note, Property::HostileNotesBounded, "decisions; 128 are the most"},
    {&forgets_its_memory, Property::NothingLeaks, "pieces of memory were left"},
    {&ignores_drains, Property::DrainEnds, "were open when the time to drain was over"},
    {&compares_plainly, Property::SequencesWrap, "across the wrap"},
    {&takes_skew_for_loss, Property::SkewIsNotLoss, "resends per slot"},
    {&counts_slots, Property::RangeCostsAsOne, "decisions for 300000 slots"},
    {&trusts_in_numbers, Property::CompleteMeansWhole, "called complete with holes"},
    {&throws_away, Property::WhatArrivedIsKept, "had arrived"},
    {&takes_blocks_for_full, Property::CodesWithinBounds, "break the rule"},
};

}  // namespace cw::conformance::broken
