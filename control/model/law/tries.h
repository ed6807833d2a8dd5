// How often what was lost has to be sent again. A message's slots leave in a row; those that are
// lost leave in a row once more, and so on, along one chain of losses. So what a burst does to the
// first try it does to the next ones as well: what is sent again lies closer together than it did.
#pragma once

#include <cstdint>
#include <vector>

#include "control/model/law/loss.h"

namespace cw::model {

/// Packets of others, as those of control are, that leave between two tries.
struct Between {
  uint64_t found = 0;  ///< the first and the second
  uint64_t again = 0;  ///< any later two
};

/// [i] is the probability that none of `slots` is missing after i + 1 tries. Ends where that is
/// certain but for one in 10^12, or after 64 tries. Cost: microseconds where losses are
/// independent, milliseconds with two states, up to a second with the hundred of a cloud profile.
std::vector<double> whole_after(const LossChain& chain, uint64_t slots, const Between& between);

/// Missing slots after one more try of those that are missing, with the chain's state; [n][state].
using Missing = std::vector<States>;
Missing try_again(const LossChain& chain, const Missing& missing, uint64_t between);
/// `slots` that have not been tried at all.
Missing all_missing(const LossChain& chain, uint64_t slots);

}  // namespace cw::model
