// The knobs of csa_ud.
#pragma once

#include "policies/parts/adapt.h"

namespace cw::policy::csa_ud {

/// In the order of the parameter table.
enum Param {
  ReorderParam,
  PatienceParam,
  HoleWaitMaxParam,
  DeviationsParam,
  ReordersParam,
  AgainMaxParam,
  SilentMaxParam,
  OutstandingParam,
  OutstandingLeastParam,
  SpuriousMaxParam,
  ParamCount
};

inline constexpr double measured = -1;

inline constexpr cw_param params[ParamCount] = {
    {"reorder_budget", "ns", nullptr,
     "Q, how late a slot may be and not be lost; -1 is what the paths measure.", CW_PARAM_DURATION,
     0, measured, measured, 1e9},
    {"patience", "", nullptr, "The share of a step's slack that a hole may wait.", CW_PARAM_REAL, 0,
     0.5, 0, 1},
    {"hole_wait_max", "", nullptr, "What a hole waits at most, in round trips to its peer.",
     CW_PARAM_REAL, 0, 1, 0, 64},
    {"deviations", "", nullptr, "An answer is lost after S and so many deviations V.",
     CW_PARAM_REAL, 0, 12, 0, 64},
    {"reorders", "", nullptr, "And after so many reorder budgets at least.", CW_PARAM_REAL, 0, 2, 1,
     64},
    {"again_max", "ns", nullptr, "To what the time between two asks for one slot doubles.",
     CW_PARAM_DURATION, 0, 64e6, 0, 60e9},
    {"silent_max", "ns", nullptr, "The same, for a source of which nothing has come.",
     CW_PARAM_DURATION, 0, 1e9, 0, 60e9},
    {"outstanding", "", nullptr,
     "What may be asked for and not have come, as a share of what the line brings in S.",
     CW_PARAM_REAL, 0, 0.25, 0, 16},
    {"outstanding_least", "", nullptr, "And in slots at least.", CW_PARAM_INT, 0, 16, 1, 65536},
    {"spurious_max", "", nullptr, "When more of what was asked for had not been lost, Q is raised.",
     CW_PARAM_REAL, 0, 0.01, 0, 1},
};

struct Settings {
  Duration reorder_budget;  // negative: as measured
  double patience, hole_wait_max, deviations, reorders;
  Duration again_max, silent_max;
  double outstanding;
  uint32_t outstanding_least;
  double spurious_max;
};

inline Settings settings_of(const cw_env& env) {
  const auto real = [&](Param param) { return env.params[param]; };
  const auto duration = [&](Param param) {
    return Duration::from_ns(static_cast<int64_t>(env.params[param]));
  };
  return {.reorder_budget = duration(ReorderParam),
          .patience = real(PatienceParam),
          .hole_wait_max = real(HoleWaitMaxParam),
          .deviations = real(DeviationsParam),
          .reorders = real(ReordersParam),
          .again_max = duration(AgainMaxParam),
          .silent_max = duration(SilentMaxParam),
          .outstanding = real(OutstandingParam),
          .outstanding_least = static_cast<uint32_t>(real(OutstandingLeastParam)),
          .spurious_max = real(SpuriousMaxParam)};
}

}  // namespace cw::policy::csa_ud
