#include "control/perf/end/receiver.h"

namespace cw::perf {

Receiver::Receiver(sdr::Link& link, const Parameters& parameters, const Payload& payload)
    : link_(link),
      parameters_(parameters),
      payload_(payload),
      // Patience is for messages that have begun: of those nothing has come for so long.
      sink_({.bytes = parameters.size.count(),
             .patience = parameters.patience,
             .waits_while_it_grows = true}) {
  sink_.post(stream());
}

bool Receiver::turn(Instant now) {
  if (has_lost_peer_) return false;
  const size_t taken = sink_.take(stream(), now, [&](const auto& over) { count(over); });
  return taken + (has_lost_peer_ ? 0 : sink_.post(stream())) > 0;
}

/// What lies behind a receive that was lost counts no more.
void Receiver::count(const SinkPump::Over& over) {
  has_lost_peer_ |= over.info.status == sdr::MessageStatus::PeerLost;
  if (has_lost_peer_) return;
  const bool is_whole = over.is_whole() && over.info.bytes == parameters_.size.count();
  ++(is_whole ? whole_ : incomplete_);
  if (parameters_.verify) bytes_wrong_ += payload_.wrong_bytes(over, parameters_.size);
}

}  // namespace cw::perf
