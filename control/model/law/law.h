// A completion time as a law: what share of messages is done by when. Mean, deviation and every
// quantile come from it, so that they never contradict each other.
//
// It is discrete: the share jumps at each step and stays in between. Pure, and cheap enough to be
// made anew whenever something about the link has changed.
#pragma once

#include <vector>

namespace cw::model {

struct LawStep {
  double ms = 0;     ///< from then on ...
  double share = 0;  ///< ... so many are done: 0 to 1
};

/// A message that takes so long, and how likely that is.
struct Outcome {
  double ms = 0, share = 0;
};

class Law {
 public:
  /// Times and shares rise. What the last step lacks to all is given to it: it is the caller's to
  /// go on until that is too little to see.
  static Law of_steps(std::vector<LawStep> steps);
  /// In any order. Their shares add up to one, or nearly.
  static Law of_outcomes(std::vector<Outcome> outcomes);

  double mean_ms() const;
  double deviation_ms() const;
  /// The time that a share `q` of messages, above 0 and below 1, does not exceed.
  double quantile_ms(double q) const;
  double share_at(double ms) const;
  const std::vector<LawStep>& steps() const { return steps_; }

 private:
  std::vector<LawStep> steps_;
};

/// Done when both are, which know nothing of each other.
Law both_of(const Law& one, const Law& other);

}  // namespace cw::model
