// What is lost of a row of slots, as a Markov chain that steps once per slot: one state where
// losses know nothing of each other, two of Gilbert-Elliott's, a hundred of a cloud profile, whose
// events have lengths. The chains are those by which the simulated wire loses packets
// (dataplane/port/impair), so both mean the same by the same words.
#pragma once

#include <cstdint>
#include <vector>

#include "dataplane/port/impair/impairment.h"

namespace cw::model {

/// Shares of each state of a chain.
using States = std::vector<double>;

class LossChain {
 public:
  struct Move {
    uint32_t from = 0, to = 0;
    double chance = 0;
    bool is_lost = false;  ///< the slot of this step is
  };

  static LossChain independent(double loss);
  static LossChain gilbert_elliott(const GilbertElliott& chain);
  static LossChain bursts(const BurstLoss& events);
  /// Of chunks of so many slots each, which are lost with any of them. For chains of few states:
  /// the moves are as many as pairs of them.
  LossChain of_chunks(uint32_t slots) const;

  uint32_t state_count() const { return state_count_; }
  bool is_independent() const { return state_count_ == 1; }
  const std::vector<Move>& moves() const { return moves_; }
  /// In the long run.
  const States& steady() const { return steady_; }
  /// When a message begins: behind one that has come, and some packets of control.
  const States& begin() const { return begin_; }
  double loss() const { return loss_; }
  /// The mean length of a row of losses.
  double burst() const { return burst_; }

  /// After so many slots of which nobody asks what became.
  States after(const States& states, uint64_t slots) const;
  /// After one that is lost, or one that is not: with the probability of that as their sum.
  States after_one(const States& states, bool is_lost) const;

 private:
  LossChain(uint32_t state_count, std::vector<Move> moves);
  void settle();

  uint32_t state_count_ = 1;
  std::vector<Move> moves_;
  States steady_, begin_;
  double loss_ = 0, burst_ = 1;
  double persistence_ = 0;  // of two states
};

double sum_of(const States& states);

/// The probability that a chunk of `packets` packets is lost when each of them is with `loss`.
double chunk_loss(double loss, uint32_t packets);

}  // namespace cw::model
