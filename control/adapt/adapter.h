// Which policy a class sends by to one peer, as the line between them changes.
//
//   line: loss, runs, RTT, rate --> model --> what each candidate would make of a transfer
//
// Two questions, asked at every look.
//
//   Is the line worse than it was known to be when this was last decided? Then, at once: what is
//   best should the loss be as high as it may be (the upper end of its interval)? That is taken if
//   it is better by more than `gain_min`, or is for what was measured. Asked again, for what was
//   measured, once twice as many runs of losses are known. Not while packets queue: what overflows
//   is no reason to send more.
//
//   Has the line been as it is for long enough, ten round trips and twenty losses, or a minute?
//   Then: what sends least of those that are about as good as the best, at the loss that was
//   measured? That is taken if it sends less.
//
// So nothing is asked again while nothing more is known: what was taken at a measured loss is not
// taken back before more is lost than could be lost as far as was known then. Where it had to be
// taken back soon all the same, the line stands at a border, and twice as many losses are waited
// for.
//
// A tail is p99.9 should three times as many transfers be late as the law has it: what hosts wait
// for begins and ends anywhere in what we cut into messages and blocks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "control/adapt/judge.h"
#include "control/adapt/line_history.h"

namespace cw::adapt {

/// The line to a peer, at one moment.
struct LineFacts {
  LineLoss loss;
  Duration rtt;  ///< zero: not known
  Rate rate;
  bool is_queued = false;  ///< packets wait on the line
};

struct Decision {
  size_t from = 0, to = 0;  ///< candidates
  bool is_raise = false;    ///< more is sent besides data
  /// "loss 0.8 % (0.7 to 0.9), bursts of 3: erasure (32,4) -> erasure (32,6), expected p99.9 31 ms
  /// -> 26 ms".
  std::string what;
};

/// Thread: one.
class Adapter {
 public:
  static constexpr double gain_min = 0.05;  ///< a smaller one is not worth a change
  static constexpr double alike = 0.02;     ///< nor is so much a loss
  static constexpr uint64_t losses_min = 20;
  static constexpr int64_t rtts_min = 10;
  static constexpr Duration calm_max = Duration::from_s(60);
  /// So long a candidate that the peer would not take is not asked for again.
  static constexpr Duration refused_for = Duration::from_s(600);

  /// `overhead_max`: bytes on the wire per byte of data.
  Adapter(const AdaptPlan& plan, Bytes slot, double overhead_max)
      : aim_(plan.aim), overhead_max_(overhead_max), judge_(plan, slot) {}

  const std::vector<model::Plan>& candidates() const { return judge_.candidates(); }
  /// Whether another than `present`, a candidate, should send; then that counts as taken.
  std::optional<Decision> look(const LineFacts& facts, size_t present, Instant now);
  /// It did not come to that, and would not if it were asked for soon.
  void refused(size_t candidate, Instant now);
  /// Somebody else has decided meanwhile: what is known of the line is kept, nothing of why.
  void forget() { accepted_ = {}; }

 private:
  /// What the line was like when it was last decided.
  struct Accepted {
    double loss_high = 0;  // the least that this was known to be since
    uint64_t bursts = 0;
    double burst = 1;
    Duration rtt;
    Rate rate;
  };
  bool is_worse(const LineFacts& facts) const;
  bool is_known_better(const LineFacts& facts) const;
  bool is_other_line(const LineFacts& facts) const;
  bool is_long_enough(const LineFacts& facts, Instant now) const;
  std::optional<Decision> raise(const LineFacts& facts, double loss, size_t present, Instant now);
  std::optional<Decision> lower(const LineFacts& facts, size_t present, Instant now);
  bool may_take(size_t candidate, const Verdicts& verdicts, Instant now) const;
  std::optional<size_t> best(const Verdicts& verdicts, Instant now) const;
  double cost(const model::Prediction& it) const;
  Decision decide(const LineFacts& facts, const Verdicts& verdicts, size_t from, size_t to) const;
  void accept(const LineFacts& facts);

  model::Aim aim_;
  double overhead_max_;
  Judge judge_;
  Accepted accepted_;
  std::vector<Instant> refused_until_;  // by candidate; shorter: none of those behind
  Instant changed_;
  Duration waited_;       // for the last change, if it was one to less; else zero
  uint64_t caution_ = 1;  // times as many losses are waited for
};

}  // namespace cw::adapt
