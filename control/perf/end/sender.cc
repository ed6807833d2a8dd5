#include "control/perf/end/sender.h"

namespace cw::perf {

Sender::Sender(sdr::Link& link, const Parameters& parameters, const Payload& payload,
               PhaseOptions phases)
    : link_(link),
      parameters_(parameters),
      payload_(payload),
      source_({.in_flight = parameters.in_flight}),
      phases_(std::move(phases)) {}

std::vector<Duration> Sender::times_of_phase(size_t setting) const {
  std::vector<Duration> times;
  for (size_t i = 0; i < times_.size(); ++i) {
    if (phase_of_[i] == static_cast<int>(setting)) times.push_back(times_[i]);
  }
  return times;
}

bool Sender::turn(Instant now) {
  const size_t settled = source_.settle(
      stream(), [&](const auto& sending, auto status) { count(sending, status, now); });
  if (posted() > 0 && now - started_ >= parameters_.duration) stop_posting();
  return settled + post(now) > 0;
}

void Sender::count(const SourcePump::Sending& sending, sdr::MessageStatus status, Instant now) {
  if (status == sdr::MessageStatus::Done) {
    times_.push_back(now - sending.opened);
    phase_of_.push_back(phases_.of(sending.index));
  }
  given_up_ += status == sdr::MessageStatus::GivenUp;
  has_lost_peer_ |= status == sdr::MessageStatus::PeerLost;
  ended_ = now;
}

size_t Sender::post(Instant now) {
  const uint64_t before = posted();
  const auto make = [&](uint64_t index) {
    if (index == 0) started_ = ended_ = now;
    is_in_phase_ = false;
    return SourcePump::Message{payload_.of_message(index, parameters_.size)};
  };
  while (!has_posted_all() && link_.is_up() && try_begin_phase()) {
    if (source_.open(stream(), now, posted() + 1, make) == 0) break;
  }
  return posted() - before;
}

/// False while the next message must wait: what is in flight belongs to the phase before.
bool Sender::try_begin_phase() {
  if (is_in_phase_ || !phases_.begins_at(posted())) return true;
  if (!source_.in_flight().empty()) return false;
  if (const auto entered = phases_.enter(posted()); !entered) mistake_ = entered.error().sentence;
  if (!mistake_.empty()) stop_posting();
  is_in_phase_ = mistake_.empty();
  return is_in_phase_;
}

}  // namespace cw::perf
