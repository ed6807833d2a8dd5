#include "control/perf/sender.h"

#include "dataplane/base/assert.h"

namespace cw::perf {

Sender::Sender(sdr::Peer& peer, const Parameters& parameters, const Payload& payload,
               PhaseOptions phases)
    : peer_(peer), parameters_(parameters), payload_(payload), phases_(std::move(phases)) {}

std::vector<Duration> Sender::times_of_phase(size_t setting) const {
  std::vector<Duration> times;
  for (size_t i = 0; i < times_.size(); ++i) {
    if (phase_of_[i] == static_cast<int>(setting)) times.push_back(times_[i]);
  }
  return times;
}

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
    if (status == sdr::MessageStatus::Done) {
      times_.push_back(now - flight->posted);
      phase_of_.push_back(phases_.of(flight->index));
    }
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
    if (!try_begin_phase()) break;
    const auto handle = stream().try_open({});
    if (!handle) break;
    is_in_phase_ = false;
    CW_ASSERT(stream().append(*handle, 0, payload_.of_message(posted_, parameters_.size)));
    CW_ASSERT(stream().close(*handle));
    in_flight_.push_back({*handle, now, posted_});
    if (posted_++ == 0) started_ = ended_ = now;
    ++count;
  }
  return count;
}

/// False while the next message must wait: what is in flight belongs to the phase before.
bool Sender::try_begin_phase() {
  if (is_in_phase_ || !phases_.begins_at(posted_)) return true;
  if (!in_flight_.empty()) return false;
  if (const auto entered = phases_.enter(posted_); !entered) mistake_ = entered.error().sentence;
  if (!mistake_.empty()) stop_posting();
  is_in_phase_ = mistake_.empty();
  return is_in_phase_;
}

}  // namespace cw::perf
