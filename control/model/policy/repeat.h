// Selective repeat: what was lost, and nothing else, is sent again. After SDR-RDMA (arXiv
// 2505.05366), section 4.
//
// A message is M slots, which leave one per T. Slot i, lost k times, is in place after i T + k O
// where O is the time until a loss is found and T for sending it again; the sender knows that the
// message is whole after the latest slot and a round trip. Where losses know nothing of each other
// that is the paper's
//
//   P(max X_i < q) = product over i of 1 - P^(tries of i until q)
//
// and in the general case, with W(k) = P(nothing is missing after k tries), the product over i of
// W(tries of i until q)^(1/M), which is the same where W(k) = (1 - P^k)^M.
//
// Exact while M T <= O: no slot that is sent again then competes with one that is sent first. Where
// M T > O it is a lower bound.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "control/model/law/law.h"
#include "control/model/law/loss.h"
#include "control/model/law/tries.h"

namespace cw::model {

/// How a message leaves, and what a loss costs. Times in ms.
struct RepeatTimes {
  uint64_t slots = 1;   ///< M
  double slot_ms = 0;   ///< T
  double rtt_ms = 0;    ///< from the last slot's arrival at its place to the final acknowledgement
  double found_ms = 0;  ///< O - T of the first loss of a slot
  double again_ms = 0;  ///< O - T of every further one
  Between between;      ///< two tries
  /// Slots beyond so many count in rows: the law is then off by M T over twice as many.
  uint64_t rows_max = 4096;

  bool is_bound() const { return double(slots - 1) * slot_ms > std::min(found_ms, again_ms); }
};

Law repeat_law(const RepeatTimes& times, const LossChain& chain);
/// The same for any W.
Law repeat_law(const RepeatTimes& times, std::span<const double> whole);

}  // namespace cw::model
