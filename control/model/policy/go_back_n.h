// Go-back-N as the policy `go_back_n` has it: from the first hole on everything is sent again, but
// what has come behind a hole is kept. So a message is tried in passes, each from its first hole
// to its end, and what is missing after one is what all passes so far have lost.
//
//   pass 1   leaves at 0; a hole with something behind it is asked for
//   pass 2   a round trip later. When the first hole is filled the next one is asked for, once
//   pass 3   another round trip later, if any were left. What is missing then nobody asks for:
//   ...      RTT + alpha RTT after the point up to which all is in place has moved, and twice that
//            after nothing has
//   a tail   without anything behind it waits for the timeout at once
//
// Runs of missing slots are taken for a Poisson number, thinned by each pass; for a message of some
// slots that is exact but for what two losses in it do. Holds while a message leaves within 7/8 of
// a round trip: else asking comes while first slots are still leaving.
#pragma once

#include <cstdint>

#include "control/model/law/law.h"
#include "control/model/law/loss.h"

namespace cw::model {

struct GoBackNTimes {
  uint64_t slots = 1;
  double slot_ms = 0, rtt_ms = 0;
  double alpha = 2;  ///< of the timeout

  bool holds() const { return double(slots) * slot_ms <= 7.0 / 8 * rtt_ms; }
};

struct GoBackN {
  Law law;
  double sent = 1;  ///< slots that leave per slot of the message
};

/// The chain has two states at most.
GoBackN go_back_n_law(const GoBackNTimes& times, const LossChain& chain);

}  // namespace cw::model
