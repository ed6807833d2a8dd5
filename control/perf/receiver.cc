#include "control/perf/receiver.h"

#include <algorithm>

#include "dataplane/base/assert.h"

namespace cw::perf {
Receiver::Receiver(sdr::Peer& peer, const Parameters& parameters, const Payload& payload)
    : peer_(peer), parameters_(parameters), payload_(payload) {
  post();
}

bool Receiver::turn(Instant now) {
  if (has_lost_peer_) return false;
  const size_t taken = take(now);
  return taken + post() > 0;
}

Instant Receiver::next_deadline() const {
  Instant moved = Instant::never();
  for (const Receiving& receiving : receiving_) moved = std::min(moved, receiving.moved);
  return moved == Instant::never() ? moved : moved + parameters_.patience;
}

size_t Receiver::post() {
  size_t count = 0;
  while (true) {
    if (spare_.empty()) spare_.emplace_back(parameters_.size.count());
    const auto handle = stream().try_post(spare_.back());
    if (!handle) return count;
    receiving_.push_back(
        {.index = posted_++, .handle = *handle, .memory = std::move(spare_.back())});
    spare_.pop_back();
    ++count;
  }
}

size_t Receiver::take(Instant now) {
  size_t count_taken = 0;
  for (auto receiving = receiving_.begin(); receiving != receiving_.end();) {
    const sdr::RecvInfo info = stream().info(receiving->handle);
    if (info.status == sdr::MessageStatus::PeerLost) {
      has_lost_peer_ = true;
      return count_taken;
    }
    if (!is_over(*receiving, info, now)) {
      ++receiving;
      continue;
    }
    count(*receiving, info);
    CW_ASSERT(stream().complete(receiving->handle, now));
    spare_.push_back(std::move(receiving->memory));
    receiving = receiving_.erase(receiving);
    ++count_taken;
  }
  return count_taken;
}

/// Patience is for messages that have begun: of those nothing has come for so long.
bool Receiver::is_over(Receiving& receiving, const sdr::RecvInfo& info, Instant now) const {
  if (info.status != sdr::MessageStatus::Open) return true;
  const bool is_first_sign = receiving.moved == Instant::never() && info.bytes.has_value();
  if (info.slots_in_place > receiving.slots_in_place || is_first_sign) {
    receiving.slots_in_place = info.slots_in_place;
    receiving.moved = now;
  }
  return receiving.moved != Instant::never() && now - receiving.moved >= parameters_.patience;
}

void Receiver::count(Receiving& receiving, const sdr::RecvInfo& info) {
  const bool is_whole =
      info.status == sdr::MessageStatus::Done && info.bytes == parameters_.size.count();
  ++(is_whole ? whole_ : incomplete_);
  if (!parameters_.verify) return;
  bytes_wrong_ += payload_.wrong_bytes(receiving.index, parameters_.size, receiving.memory,
                                       is_whole, stream(), receiving.handle);
}

}  // namespace cw::perf
