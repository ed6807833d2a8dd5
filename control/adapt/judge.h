// What candidates make of a line on paper, kept for as long as the line stays about the same.
#pragma once

#include <optional>
#include <vector>

#include "control/adapt/adapt_plan.h"
#include "control/model/predict.h"

namespace cw::adapt {

/// What a transfer crosses.
struct Line {
  Rate rate;
  Duration rtt;
  double loss = 0;   ///< of packets, below 0.5
  double burst = 1;  ///< mean packets of a run of losses
};

/// By candidate; nothing: no law holds there.
using Verdicts = std::vector<std::optional<model::Prediction>>;

/// Thread: one.
class Judge {
 public:
  /// `slot`: bytes that one packet carries.
  Judge(const AdaptPlan& plan, Bytes slot)
      : candidates_(candidates_of(plan)), transfer_(plan.transfer), slot_(slot) {}

  const std::vector<model::Plan>& candidates() const { return candidates_; }
  /// Valid until the next call. Cost: nothing for a line that has been asked about; else some
  /// milliseconds a candidate, where losses come in runs.
  const Verdicts& at(const Line& line);

 private:
  static constexpr size_t kept_max = 16;
  /// A line, in steps too small to matter.
  struct Step {
    int rate = 0, rtt = 0, loss = 0, burst = 0;
    bool operator==(const Step&) const = default;
  };
  struct Kept {
    Step step;
    Verdicts verdicts;
  };
  static Step step_of(const Line& line);
  static Line line_of(const Step& step);
  Verdicts judge(const Line& line) const;

  std::vector<model::Plan> candidates_;
  Bytes transfer_, slot_;
  std::vector<Kept> kept_;  // the latest last
};

}  // namespace cw::adapt
