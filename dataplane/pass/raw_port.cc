#include "dataplane/pass/raw_port.h"

#include <algorithm>

#include "dataplane/base/assert.h"
#include "dataplane/pass/pass.h"

namespace cw {
namespace {

constexpr size_t packets_ahead = 6;

}  // namespace

RawPort::RawPort(Port& wire, seal::Sealer* sealer)
    : wire_(wire),
      sealer_(sealer),
      facts_(sealer == nullptr ? wire.facts() : pass::sealed_facts(wire.facts(), *sealer)) {
  if (sealer != nullptr) wire.leave_icrcs();
}

RawPort::~RawPort() {
  end_arrivals();
  wire_.give_back({made_.data() + made_first_, made_count_});
}

Instant RawPort::next_due() const { return made_count_ > 0 ? Instant() : wire_.next_due(); }

size_t RawPort::receive(std::span<Arrival> out, Instant now) {
  CW_DCHECK(arrived_count_ == 0);
  if (sealer_ != nullptr) sealer_->take_orders(now);
  if (try_flush(now) && sealer_ != nullptr) say_own(now);
  const auto room = std::span(arrived_).first(std::min(out.size(), arrived_.size()));
  arrived_count_ = wire_.rx_burst(room, now);
  CW_ASSERT(arrived_count_ <= room.size());
  if (tap_ != nullptr) tap_->saw(room.first(arrived_count_), /*is_outward=*/false, now);
  // Headers lie where a NIC has put them, in a cold line or two: asked for a few packets ahead,
  // their way from memory overlaps with work.
  size_t count = 0;
  for (size_t i = 0; i < arrived_count_; ++i) {
    if (i + 2 * packets_ahead < arrived_count_) {
      __builtin_prefetch(arrived_[i + 2 * packets_ahead]);
    }
    if (i + packets_ahead < arrived_count_) {
      const uint8_t* const headers = arrived_[i + packets_ahead]->data;
      __builtin_prefetch(headers);
      __builtin_prefetch(headers + slot_write_header_bytes);
    }
    Arrival& arrival = out[count];
    pass::read(*arrived_[i], arrival);
    CW_DCHECK(sealer_ != nullptr || !arrived_[i]->is_icrc_due);
    count += sealer_ == nullptr || try_open(*arrived_[i], arrival) ? 1 : 0;
  }
  if (count == 0) end_arrivals();  // nobody sees those that were taken
  return count;
}

/// False: nobody is to see it.
bool RawPort::try_open(const Packet& packet, Arrival& arrival) {
  if (packet.is_icrc_due && !sealer_->proves(arrival) && !wire_.is_icrc_right(packet)) return false;
  return sealer_->open(arrival) != seal::Sealer::Opened::Taken;
}

void RawPort::end_arrivals() {
  wire_.give_back({arrived_.data(), arrived_count_});
  arrived_count_ = 0;
}

size_t RawPort::send(std::span<const Send> sends, Instant now) {
  if (!try_flush(now)) return 0;
  const size_t room = std::min(made_.size(), copied_.room());
  const auto burst = sends.first(std::min(sends.size(), room));
  take_empty(burst);
  size_t done = 0;
  while (done < burst.size() && try_make(burst[done])) ++done;
  CW_ASSERT(empty_count_ == 0);
  copied_.give_back(wire_);
  if (tap_ != nullptr) tap_->saw({made_.data(), made_count_}, /*is_outward=*/true, now);
  try_flush(now);
  return done;
}

/// Whether the port below has taken all that was made.
bool RawPort::try_flush(Instant now) {
  if (made_count_ > 0) {
    const size_t taken = wire_.tx_burst({made_.data() + made_first_, made_count_}, now);
    made_first_ += taken;
    made_count_ -= taken;
  }
  if (made_count_ == 0) made_first_ = 0;
  return made_count_ == 0;
}

bool RawPort::needs_packet(const Send& send) const {
  return is_sealed(send) ? sealer_->has_keys(send.peer) : !send.has_packet_alone;
}

/// As many as the sends need, or there are.
void RawPort::take_empty(std::span<const Send> sends) {
  const auto wanted = static_cast<size_t>(
      std::ranges::count_if(sends, [this](const Send& send) { return needs_packet(send); }));
  if (wanted > 0) empty_count_ = wire_.take_burst(std::span(empty_).first(wanted));
}

bool RawPort::try_make(const Send& send) {
  if (is_sealed(send)) return try_make_sealed(send);
  if (send.has_packet_alone) {
    pass::write_in_place(send);
    made_[made_count_++] = send.packet;
    return true;
  }
  if (empty_count_ == 0) return false;
  Packet* const packet = empty_[--empty_count_];
  made_[made_count_++] = packet;
  if (pass::write(send, *packet, facts_.external_payload)) copied_.release(send);
  return true;
}

bool RawPort::try_make_sealed(const Send& send) {
  if (!sealer_->has_keys(send.peer)) {
    sealer_->hold(send);
    copied_.release(send);
    return true;
  }
  if (empty_count_ == 0) return false;
  Packet* const packet = empty_[--empty_count_];
  if (pass::try_write_sealed(send, *packet, *sealer_)) {
    made_[made_count_++] = packet;
  } else {
    wire_.give_back({&packet, 1});
    sealer_->hold(send);
  }
  copied_.release(send);
  return true;
}

/// What nobody above has asked for: handshakes, and what has waited for their end.
void RawPort::say_own(Instant now) {
  const auto has_room = [this] { return made_count_ < made_.size(); };
  while (has_room()) {
    const Send* const said = sealer_->take_said();
    if (said == nullptr) break;
    make_own(*said, /*is_sealed=*/false);
  }
  while (has_room()) {
    const Send* const held = sealer_->take_held();
    if (held == nullptr) break;
    make_own(*held, /*is_sealed=*/true);
  }
  if (made_count_ == 0) return;
  if (tap_ != nullptr) tap_->saw({made_.data(), made_count_}, /*is_outward=*/true, now);
  try_flush(now);
}

/// Where there is no packet for it, it is lost, as on the way.
void RawPort::make_own(const Send& send, bool is_sealed) {
  Packet* packet = nullptr;
  if (wire_.take_burst({&packet, 1}) == 0) return;
  const bool is_made = is_sealed ? pass::try_write_sealed(send, *packet, *sealer_)
                                 : pass::write(send, *packet, /*port_gathers=*/false);
  if (!is_made) return wire_.give_back({&packet, 1});
  made_[made_count_++] = packet;
}

size_t RawPort::take_done(std::span<uint64_t> out) {
  const size_t count = copied_.take(out);
  return count + wire_.take_done(out.subspan(count));
}

}  // namespace cw
