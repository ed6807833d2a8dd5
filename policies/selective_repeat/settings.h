// The knobs of selective_repeat, and the times that follow from them and the link.
#pragma once

#include <algorithm>

#include "policies/parts/adapt.h"
#include "policies/parts/note.h"
#include "policies/parts/timing.h"

namespace cw::policy::selective_repeat {

enum class Detect { Rto = 0, Nack = 1 };

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

struct Settings {
  Detect detect;
  double alpha;
  Duration ack_interval;    // zero: automatic
  Duration reorder_budget;  // negative: automatic
  uint32_t note_bytes;

  explicit Settings(const cw_env& env)
      : detect(env.params[DetectParam] >= 0.5 ? Detect::Nack : Detect::Rto),
        alpha(env.params[AlphaParam]),
        ack_interval(Duration::from_ns(static_cast<int64_t>(env.params[AckIntervalParam]))),
        reorder_budget(Duration::from_ns(static_cast<int64_t>(env.params[ReorderBudgetParam]))),
        note_bytes(
            std::min(static_cast<uint32_t>(env.params[NoteBytesParam]), env.note_bytes_max)) {}
};

/// All waiting times. Recomputed with every `link` fact.
struct Times {
  Duration rto, ack_interval;
  Duration budget;       // sink: a hole this old is a loss
  Duration tail_quiet;   // sink: a closed message silent for this long has lost its tail
  Duration nack_repeat;  // sink: a hole asked for and still open is asked for again
  Duration nack_gap;     // sink: least time between two notes that ask
  Duration first_age;    // source: nobody can have missed a slot that left later than this
  Duration resent_age;   // source: nor one that was resent later than this
  Duration grain;        // departures this close share an entry
  Duration retry;        // source: a refused send is tried again

  Times(const Settings& settings, const LinkTiming& link)
      : rto(link.rto(settings.alpha)),
        ack_interval(settings.ack_interval > Duration() ? settings.ack_interval : link.rtt / 4),
        budget((settings.reorder_budget < Duration() ? link.reorder : settings.reorder_budget) +
               link.skew),
        // CLOSED may overtake the last slots by the reorder budget, and by what still waits in the
        // sender's pacer; an RTT / 16 of silence tells a lost tail from one that is still coming.
        tail_quiet(budget + link.rtt / 16),
        nack_repeat(link.rtt + link.margin() + budget),
        nack_gap(link.rtt / 64),
        first_age(link.rtt_min - link.rtt_min / 8),
        resent_age(link.rtt + link.margin() / 2 + link.skew),
        grain(link.rtt / 128),
        retry(link.rtt / 8) {}
};

}  // namespace cw::policy::selective_repeat
