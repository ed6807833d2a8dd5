// The knobs of selective_repeat.
#pragma once

#include <algorithm>

#include "policies/parts/adapt.h"
#include "policies/parts/repeat/repeat_times.h"

namespace cw::policy::selective_repeat {

/// In the order of the parameter table.
enum Param {
  DetectParam,
  AlphaParam,
  AckIntervalParam,
  ReorderBudgetParam,
  NoteBytesParam,
  ParamCount
};

inline constexpr double automatic_ns = -1;

inline constexpr cw_param params[ParamCount] = {
    {"detect", "", "rto|nack",
     "Who finds a loss: the sender by timeout, or also the receiver, which asks for the slot.",
     CW_PARAM_CHOICE, 0, 1, 0, 1},
    {"alpha", "", nullptr,
     "Timeout of a departed slot: RTT + alpha x RTT. It covers queues and the ack interval.",
     CW_PARAM_REAL, 0, 2, 0.5, 32},
    {"ack_interval", "ns", nullptr,
     "How often the receiver reports open messages; 0 is a quarter of the RTT.", CW_PARAM_DURATION,
     0, 0, 0, 1e9},
    {"reorder_budget", "ns", nullptr,
     "How late a slot may be on its path before it is asked for; -1 is what the link measures.",
     CW_PARAM_DURATION, 0, automatic_ns, automatic_ns, 1e9},
    {"note_bytes", "", nullptr, "Upper bound of one note; the link may allow less.", CW_PARAM_INT,
     0, 1024, 64, 1024},
};

inline RepeatSettings settings_of(const cw_env& env) {
  const auto duration = [&](Param param) {
    return Duration::from_ns(static_cast<int64_t>(env.params[param]));
  };
  return {.asks = env.params[DetectParam] >= 0.5,
          .alpha = env.params[AlphaParam],
          .ack_interval = duration(AckIntervalParam),
          .reorder_budget = duration(ReorderBudgetParam),
          .note_bytes =
              std::min(static_cast<uint32_t>(env.params[NoteBytesParam]), env.note_bytes_max)};
}

}  // namespace cw::policy::selective_repeat
