// What a code makes of a block's losses.
//
// A block of `rows` rows has every rows-th slot in each of them. A class is what repairs itself
// alone: with MDS a row, of which as many slots may be lost as it has repair; with XOR one group of
// a row, every m-th of its slots and one repair slot. Either way a class is every n-th slot of the
// block and of its repair, n being how many classes there are, so neighbouring classes meet the
// same bursts: what one lacks the next one lacks too, which is why they are not multiplied but
// followed one after the other.
#pragma once

#include <cstdint>
#include <vector>

#include "control/model/law/loss.h"

namespace cw::model {

struct Code {
  bool is_xor = false;
  uint32_t k = 32, m = 8, rows = 4;
};

/// Of a block.
struct BlockLosses {
  /// [r]: the logarithm of P(nothing of its data is missing after r resends of it). [0] is what the
  /// code does alone.
  std::vector<double> log_whole;
  double asked = 0;  ///< data slots to be sent again, on the average
  /// What another block behind it adds to these logarithms: less than all, as bursts cross borders.
  double next_block = 1;
};

/// Slots of others that leave ...
struct Gaps {
  uint64_t repair = 0;   ///< between a block's data and its repair
  uint64_t shards = 0;   ///< between two repair slots of a row, besides those of its block
  uint64_t resends = 0;  ///< between a resend and the next one
};
BlockLosses block_losses(const LossChain& chain, const Code& code, const Gaps& gaps);

/// The probability that one row cannot be rebuilt: 1 - P_EC. Losses are independent.
double row_failure(const Code& code, double loss);

/// P(X = hits), X binomial over `tries` with probability `p`.
double binomial(uint64_t tries, uint64_t hits, double p);

/// A class of `data` and `repair` slots that are lost independently.
struct ClassFailure {
  double chance = 0;  ///< that it lacks more data than it has repair; exact however small it is
  double asked = 0;   ///< data slots that it then lacks, times that chance
};
/// After so many resends of its data.
ClassFailure class_failure(uint32_t data, uint32_t repair, double loss, int resends);

}  // namespace cw::model
