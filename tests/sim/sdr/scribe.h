// A policy that writes down whatever it is told and decides what a test says, for tests of what
// crosses the policy door. By itself its source sends what is appended, once.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "dataplane/policy.h"

namespace cw::sim {

/// What one end has heard, in the order of each kind.
struct Heard {
  cw_env env;
  std::vector<cw_fact_opened> opened;
  std::vector<cw_fact_appended> appended;
  std::vector<cw_fact_block_closed> block_closed;
  std::vector<cw_fact_closed> closed;
  std::vector<cw_fact_sent> sent;
  std::vector<cw_fact_refused> refused;
  std::vector<cw_fact_arrived> arrived;
  std::vector<uint64_t> words;  ///< the first that changed, of each `arrived`
  std::vector<cw_fact_lost> lost;
  std::vector<std::vector<uint8_t>> notes;
  std::vector<cw_fact_coded> coded;
  std::vector<uint64_t> timers;
  std::vector<cw_fact_expired> expired;
  std::vector<cw_fact_link> links;
  std::vector<std::vector<cw_path_facts>> paths;  ///< of each of the links
  std::vector<cw_fact_budget> budgets;
  std::vector<int64_t> drains;
  std::vector<uint32_t> ended;
  uint32_t resumes = 0;
};

/// All instances share it; a test begins with `scribe() = {}`.
struct Scribe {
  std::array<Heard, 2> heard;  ///< by role
  std::array<std::vector<cw_decision>, 2> wanted;
  std::vector<uint8_t> note_bytes = {10, 11, 12, 13, 14, 15};  ///< before each call, in cw_out
  bool sends = true;
  cw_policy_limits needs{};

  Heard& source() { return heard[CW_SOURCE]; }
  Heard& sink() { return heard[CW_SINK]; }
  /// The next call of that role decides this, too.
  cw_decision& want(cw_role role, cw_decision_kind kind) {
    return wanted[role].emplace_back(cw_decision{.kind = static_cast<uint32_t>(kind)});
  }
};
Scribe& scribe();

const cw_policy_ops* scribe_policy();
/// The same without the function `budget`.
const cw_policy_ops* thrifty_scribe_policy();

}  // namespace cw::sim
