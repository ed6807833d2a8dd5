// When the receiver knows what a message is: how long, and how its blocks are cut. Said in an
// envelope that may be lost like any packet, and said again every quarter of a round trip, then
// ever less often (dataplane/sdr/stream/repeat_after.h). Without it nothing is whole.
#pragma once

#include <cstdint>

#include "control/model/law/law.h"
#include "control/model/law/loss.h"

namespace cw::model {

struct Announcing {
  double rtt_ms = 0;
  double sent_ms = 0;      ///< when it is first said: behind the slots of the message
  double lost = 0;         ///< the chance that this is lost
  double loss = 0;         ///< and that what is said again is; they know nothing of each other
  uint32_t envelopes = 1;  ///< all of which must come
};
Law announce_law(const Announcing& announcing);

/// The chance that a packet is lost of whose message, which left before, nothing was.
double lost_behind(const LossChain& chain, uint64_t slots);

}  // namespace cw::model
