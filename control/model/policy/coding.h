// Erasure coding: a message is cut into blocks, whose repair leaves behind all data. What a code
// cannot rebuild is sent again after a fallback time. Two laws.
//
// Keeping, as the policy `erasure` does it. Without a loss a message is whole with its last slot;
// with some, when repair of the last block that has any has come; with a block that fails, after
// the fallback and resends of what it lacks. Nothing that has come is thrown away, so of a row that
// lacks more than it has repair the resends have to fill the difference only.
//
// The paper's (SDR-RDMA, arXiv 2505.05366), whose fallback repeats all k chunks of each row that
// failed, by selective repeat:
//
//   E[T] = (M + ceil(M m / k)) T + RTT + sum over f > 0 of P(F = f) (beta RTT + E[T_SR(f k)])
//
// with F binomial. The paper's own text counts the fallback's round trip twice when nothing fails.
#pragma once

#include <cstdint>

#include "control/model/law/law.h"
#include "control/model/law/loss.h"
#include "control/model/policy/rows.h"

namespace cw::model {

/// Times in ms.
struct CodingTimes {
  uint64_t slots = 1;
  double slot_ms = 0, rtt_ms = 0;
  double fallback = 0.5;  ///< beta, in RTTs
  double block_ms = 0;    ///< what a block and its repair take to leave; the paper has none
  double again_ms = 0;    ///< what is sent again in vain is asked for so much later
  double spacing_ms = 0;  ///< between two repair slots of a row
  uint64_t between = 0;   ///< slots of control between two resends

  /// A fallback begins before all repair has come: what is lost of the first blocks is sent again,
  /// too, in vain.
  bool is_hasty() const { return double(slots) * slot_ms > fallback * rtt_ms + block_ms; }
};

struct Coding {
  Law law;
  double fallback = 0;  ///< P(a message falls back)
  double sent = 1;      ///< slots that leave per slot of the message
};

Coding keeping_law(const CodingTimes& times, const Code& code, const LossChain& chain);
/// Losses know nothing of each other; `slots` count in whole rows.
Coding paper_law(const CodingTimes& times, const Code& code, double loss);

}  // namespace cw::model
