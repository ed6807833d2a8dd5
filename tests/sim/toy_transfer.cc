#include "tests/sim/toy_transfer.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "dataplane/base/assert.h"
#include "dataplane/base/endian.h"
#include "dataplane/base/limits.h"

namespace cw::sim {
namespace {

/// Messages are numbered over all streams: message * streams + stream.
struct ToyHeader {
  be64 message;
};
using Burst = std::array<Packet*, limits::burst_packets_max>;

uint64_t message_of(const Packet& packet) {
  ToyHeader header;
  CW_ASSERT(packet.bytes >= sizeof header);  // the simulated wire never cuts
  std::memcpy(&header, packet.data, sizeof header);
  return header.message.host();
}

}  // namespace

void ToySender::turn(Instant now) {
  take_acknowledgements(now);
  open_messages(now);
  send_due(now);
}

Instant ToySender::next_deadline() const {
  Instant next = has_opened_all() ? Instant::never() : next_open_at_;
  for (const auto& [message, due] : open_) next = std::min(next, due);
  return next;
}

void ToySender::take_acknowledgements(Instant now) {
  Burst burst;
  const size_t count = port_.rx_burst(burst, now);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t message = message_of(*burst[i]);
    if (open_.erase(message) > 0 && watchers_.nothing_starves) {
      watchers_.nothing_starves->closed(message);
    }
  }
  port_.give_back({burst.data(), count});
}

void ToySender::open_messages(Instant now) {
  for (; !has_opened_all() && next_open_at_ <= now; next_open_at_ += options_.interval) {
    for (uint32_t stream = 0; stream < options_.streams; ++stream) {
      const uint64_t message = opened_ * options_.streams + stream;
      const bool is_forgotten = options_.starves_last_stream && stream + 1 == options_.streams;
      open_[message] = is_forgotten ? Instant::never() : now;
      if (watchers_.exactly_once) watchers_.exactly_once->opened(message);
      if (watchers_.nothing_starves) watchers_.nothing_starves->opened(message, now);
    }
    ++opened_;
  }
}

void ToySender::send_due(Instant now) {
  const bool is_stalled = options_.stalls_at_the_end && has_opened_all();
  for (auto& [message, due] : open_) {
    if (due <= now && (is_stalled || try_send(message, now))) due = now + options_.resend_after;
  }
}

bool ToySender::try_send(uint64_t message, Instant now) {
  Packet* packet = nullptr;
  if (port_.take_burst({&packet, 1}) == 0) return false;
  const ToyHeader header{be64(message)};
  std::memcpy(packet->data, &header, sizeof header);
  fill_pattern({packet->data + sizeof header, options_.payload_bytes}, message % options_.streams,
               message / options_.streams, 0);
  packet->bytes = static_cast<uint32_t>(sizeof header) + options_.payload_bytes;
  packet->path = static_cast<uint16_t>(send_count_++ % port_.facts().paths);
  if (port_.tx_burst({&packet, 1}, now) == 1) return true;
  port_.give_back({&packet, 1});
  return false;
}

/// Each packet that arrives goes back, cut to its header, as its own acknowledgement.
void ToyReceiver::turn(Instant now) {
  Burst burst;
  while (const size_t count = port_.rx_burst(burst, now)) {
    for (size_t i = 0; i < count; ++i) {
      take(*burst[i]);
      burst[i]->bytes = sizeof(ToyHeader);
    }
    const size_t sent = port_.tx_burst({burst.data(), count}, now);
    port_.give_back({burst.data() + sent, count - sent});
  }
}

void ToyReceiver::take(const Packet& packet) {
  const uint64_t message = message_of(packet);
  if (watchers_.no_wrong_byte) {
    watchers_.no_wrong_byte->on_bytes({packet.data + sizeof(ToyHeader), options_.payload_bytes},
                                      message % options_.streams, message / options_.streams);
  }
  const bool is_new = finished_.insert(message).second;
  if (!is_new && !options_.forgets_finished) return;
  if (watchers_.exactly_once) watchers_.exactly_once->finished(message);
}

}  // namespace cw::sim
