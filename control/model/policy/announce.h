// When the receiver knows what a message is: how long, and how its blocks are cut. Said in an
// envelope that may be lost like any packet, and said again every quarter of a round trip, then
// ever less often (dataplane/sdr/stream/repeat_after.h). Without it nothing is whole.
#pragma once

#include "control/model/law/law.h"
#include "control/model/law/loss.h"

namespace cw::model {

/// `envelopes`: all of which must come. A message of `slots` leaves meanwhile.
Law announce_law(const LossChain& chain, double rtt_ms, double slot_ms, uint64_t slots,
                 uint32_t envelopes);

}  // namespace cw::model
