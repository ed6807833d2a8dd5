#include "control/perf/sender.h"

#include "dataplane/base/assert.h"

namespace cw::perf {

Sender::Sender(sdr::Peer& peer, const Parameters& parameters, const Payload& payload)
    : peer_(peer), parameters_(parameters), payload_(payload) {}

bool Sender::turn(Instant now) {
  const size_t settled = settle(now);
  if (posted_ > 0 && now - started_ >= parameters_.duration) stop_posting();
  return settled + post(now) > 0;
}

size_t Sender::settle(Instant now) {
  size_t count = 0;
  for (auto flight = in_flight_.begin(); flight != in_flight_.end();) {
    const sdr::MessageStatus status = stream().status(flight->handle);
    if (status == sdr::MessageStatus::Open) {
      ++flight;
      continue;
    }
    if (status == sdr::MessageStatus::Done) times_.push_back(now - flight->posted);
    if (status == sdr::MessageStatus::GivenUp) ++given_up_;
    if (status == sdr::MessageStatus::PeerLost) has_lost_peer_ = true;
    ended_ = now;
    stream().forget(flight->handle);
    flight = in_flight_.erase(flight);
    ++count;
  }
  return count;
}

size_t Sender::post(Instant now) {
  size_t count = 0;
  while (!has_posted_all() && in_flight_.size() < parameters_.in_flight && peer_.link().is_up()) {
    const auto handle = stream().try_open({});
    if (!handle) break;
    CW_ASSERT(stream().append(*handle, 0, payload_.of_message(posted_, parameters_.size)));
    CW_ASSERT(stream().close(*handle));
    if (posted_++ == 0) started_ = ended_ = now;
    in_flight_.push_back({*handle, now});
    ++count;
  }
  return count;
}

}  // namespace cw::perf
