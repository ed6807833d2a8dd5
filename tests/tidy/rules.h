// The rules of ARCHITECTURE.md and CONTRIBUTING.md that a machine can check. Each takes files and
// returns what it objects to, so that every rule has tests of its own on strings.
#pragma once

#include "tests/tidy/source.h"

namespace cw::tidy {

/// Who may include whom (the table of ARCHITECTURE.md); headers of vendors only in their driver.
Violations check_includes(const Files& files);

/// Nothing in the rooms of the hot path and of the policies allocates by hand, throws, locks, reads
/// a clock, draws unseeded randomness, prints or sleeps. Allocation hidden in containers is not
/// visible in text; the tests that count allocations see that.
Violations check_calls(const Files& files);

/// Lengths of lines, functions and files, and sources of a room; tabs; unfinished work; the last
/// newline; executable bits.
Violations check_shape(const Files& files);

/// Every drop reason, of dataplane/core/drop_reasons.def and of the two tables of dataplane/wire
/// that it takes in, has one sentence and is named by a test or by a packet of tests/data.
Violations check_drop_reasons(const Files& files);

/// Every rule id of dataplane/wire/SPEC.md ("[C-12]") is cited by code or a test, and every id that
/// is cited there exists.
Violations check_citations(const Files& files);

/// Every field of dataplane/policy.h, padding apart, is in a row of policies/fields.md that names a
/// test there is; and every row names a field.
Violations check_policy_fields(const Files& files);

}  // namespace cw::tidy
