#include "tests/sim/sdr/stranger.h"

#include <algorithm>

#include "dataplane/wire/roce_inline.h"
#include "tests/sim/sdr/scripted_wire.h"

namespace cw::sim {
namespace {

constexpr size_t control_headers_bytes = 20;  // BTH and DETH: what the MAC leaves out

}  // namespace

/// A sample of everything that ever went by, all ages alike.
size_t Wiretap::tx_burst(std::span<Packet* const> packets, Instant now) {
  for (size_t i = 0; i < packets.size() && kept_max_ > 0; ++i) {
    const uint64_t place = kept_.size() < kept_max_ ? kept_.size() : prng_.below(++seen_);
    if (place >= kept_max_) continue;
    if (place == kept_.size()) kept_.emplace_back(), ++seen_;
    const Packet& packet = *packets[i];
    kept_[place].path = packet.path;
    Bytes& bytes = kept_[place].bytes;
    bytes.assign(packet.data, packet.data + packet.bytes);
    bytes.insert(bytes.end(), packet.payload, packet.payload + packet.payload_bytes);
  }
  return PortAround::tx_burst(packets, now);
}

bool Wiretap::try_inject(std::span<const uint8_t> bytes, uint16_t path, Instant now) {
  Packet* packet = nullptr;
  if (port_.take_burst({&packet, 1}) == 0) return false;
  const size_t count = std::min<size_t>(bytes.size(), packet->bytes_max);
  std::copy_n(bytes.begin(), count, packet->data);
  packet->bytes = static_cast<uint32_t>(count);
  packet->peer = 0;
  packet->path = path;
  ++injected_;
  port_.tx_burst({&packet, 1}, now);
  return true;
}

void Stranger::turn(Instant now) {
  if (due_ > now) return;
  act(prng_.chance(0.5) ? a_ : b_, now);
  const double wait = prng_.exponential(static_cast<double>(options_.interval.ns()));
  due_ = now + Duration::from_ns(static_cast<int64_t>(wait) + 1);
}

/// What a site sent comes from there again; sometimes at that site itself.
void Stranger::act(Wiretap& tap, Instant now) {
  Wiretap& side = prng_.chance(0.05) ? (&tap == &a_ ? b_ : a_) : tap;
  const uint64_t row = prng_.chance(0.2) ? prng_.between(1, options_.row_max) : 1;
  const bool forges = prng_.chance(options_.forges);
  for (uint64_t i = 0; i < row; ++i) {
    const Wiretap::Kept* model = tap.any();
    if (model == nullptr) return;
    side.try_inject(forges ? forgery(model->bytes) : model->bytes, model->path, now);
  }
}

/// Everything about a packet may be guessed but a stream's key and what only the pair's key seals.
Wiretap::Bytes Stranger::forgery(const Wiretap::Bytes& model) {
  Wiretap::Bytes bytes = model;
  SlotWrite slot;
  if (try_parse_slot_write(bytes, bytes.size(), slot)) {
    slot.key ^= static_cast<uint32_t>(prng_.between(1, UINT32_MAX));
    if (prng_.chance(0.3)) slot.target_qp = static_cast<uint32_t>(prng_.below(1u << 24));
    if (prng_.chance(0.3)) slot.psn = Psn(static_cast<uint32_t>(prng_.below(1u << 24)));
    if (prng_.chance(0.3)) slot.immediate = static_cast<uint32_t>(prng_.next());
    if (prng_.chance(0.3)) slot.address = prng_.next();
    encode_slot_write(slot, bytes);
    return bytes;
  }
  if (prng_.chance(0.2)) bytes.resize(prng_.below(bytes.size()) + 1);
  if (prng_.chance(0.2)) bytes.resize(bytes.size() + prng_.below(64));
  if (bytes.size() <= control_headers_bytes) return bytes;
  for (uint64_t flips = prng_.between(1, 4); flips > 0; --flips) {
    const size_t at = control_headers_bytes + prng_.below(bytes.size() - control_headers_bytes);
    bytes[at] ^= static_cast<uint8_t>(prng_.between(1, 255));
  }
  return bytes;
}

}  // namespace cw::sim
