#include "dataplane/pass/sealed_port.h"

#include <algorithm>
#include <cstring>

#include "dataplane/base/assert.h"
#include "dataplane/pass/pass.h"

namespace cw {

SealedPort::SealedPort(WanPort& device, seal::Sealer& sealer)
    : device_(device),
      sealer_(sealer),
      facts_(pass::sealed_facts(device.facts(), sealer)),
      opening_(new uint8_t[device.facts().payload_max]) {}

SealedPort::~SealedPort() {
  for (size_t i = made_first_; i < made_first_ + made_count_; ++i) {
    if (made_[i].packet != nullptr) device_.give_back({&made_[i].packet, 1});
  }
}

Instant SealedPort::next_due() const { return made_count_ > 0 ? Instant() : device_.next_due(); }

size_t SealedPort::receive(std::span<Arrival> out, Instant now) {
  sealer_.take_orders(now);
  if (try_flush(now)) say_own(now);
  const size_t came = device_.receive(out, now);
  size_t count = 0;
  for (size_t i = 0; i < came; ++i) {
    Arrival& arrival = out[i];
    const bool is_taken =
        arrival.form == Form::Datagram && sealer_.open(arrival) == seal::Sealer::Opened::Taken;
    if (is_taken) continue;
    if (count != i) out[count] = arrival;
    ++count;
  }
  if (came > 0 && count == 0) device_.end_arrivals();  // nobody sees those that were taken
  return count;
}

/// Whoever could write there still can: what is checked must be what is read [C-86].
bool SealedPort::try_open_landed(Arrival& arrival) {
  if (arrival.head.payload_bytes > device_.facts().payload_max) {
    arrival.error = WireError::SealShort;
    return false;
  }
  std::memcpy(opening_.get(), arrival.payload, arrival.head.payload_bytes);
  arrival.payload = opening_.get();
  return sealer_.open(arrival) == seal::Sealer::Opened::Yes;
}

size_t SealedPort::send(std::span<const Send> sends, Instant now) {
  if (!try_flush(now)) return 0;
  const size_t room = std::min(made_.size(), copied_.room());
  const auto burst = sends.first(std::min(sends.size(), room));
  size_t done = 0;
  while (done < burst.size() && try_make(burst[done])) ++done;
  try_flush(now);
  return done;
}

/// Whether the device has taken all that was made.
bool SealedPort::try_flush(Instant now) {
  if (made_count_ > 0) {
    const size_t taken = device_.send({made_.data() + made_first_, made_count_}, now);
    made_first_ += taken;
    made_count_ -= taken;
  }
  if (made_count_ == 0) made_first_ = 0;
  return made_count_ == 0;
}

bool SealedPort::try_make(const Send& send) {
  if (!sealer_.seals(send.form)) {
    made_[made_count_++] = send;
    return true;
  }
  Packet* packet = nullptr;
  const bool has_keys = sealer_.has_keys(send.peer);
  if (has_keys && device_.take_burst({&packet, 1}) == 0) return false;
  if (!has_keys || !try_seal(send, packet)) sealer_.hold(send);
  copied_.release(send);
  copied_.give_back(device_);  // the next may want it
  return true;
}

/// False: its key has no numbers left.
bool SealedPort::try_seal(const Send& send, Packet* packet) {
  CW_DCHECK(packet->bytes_max >= send.head.payload_bytes + seal::seal_bytes);
  if (!sealer_.try_seal(send, packet->data)) return device_.give_back({&packet, 1}), false;
  put(send, packet).head.payload_bytes += seal::seal_bytes;
  return true;
}

/// Its payload lies in `packet` now.
Send& SealedPort::put(const Send& send, Packet* packet) {
  Send& made = made_[made_count_++] = send;
  made.payload = packet->data;
  made.packet = packet;
  made.has_packet_alone = true;
  made.cookie = 0;
  return made;
}

/// What nobody above has asked for: handshakes, and what has waited for their end. Where there is
/// no packet for it, or no number, it is lost, as on the way.
void SealedPort::say_own(Instant now) {
  const auto has_room = [this] { return made_count_ < made_.size(); };
  while (has_room()) {
    const Send* const said = sealer_.take_said();
    if (said == nullptr) break;
    Packet* packet = nullptr;
    if (device_.take_burst({&packet, 1}) == 0) continue;
    std::memcpy(packet->data, said->payload, said->head.payload_bytes);
    put(*said, packet);
  }
  while (has_room()) {
    const Send* const held = sealer_.take_held();
    if (held == nullptr) break;
    Packet* packet = nullptr;
    if (device_.take_burst({&packet, 1}) > 0) (void)try_seal(*held, packet);
  }
  try_flush(now);
}

size_t SealedPort::take_done(std::span<uint64_t> out) {
  const size_t count = copied_.take(out);
  return count + device_.take_done(out.subspan(count));
}

}  // namespace cw
