#include "dataplane/port/impair/impaired_port.h"

#include <algorithm>
#include <array>
#include <functional>

#include "dataplane/base/assert.h"
#include "dataplane/base/limits.h"

namespace cw {

void HeldPackets::put_back(Held held) {
  CW_ASSERT(free_count() > 0);
  heap_.push_back(held);
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
}

HeldPackets::Held HeldPackets::pop() {
  CW_ASSERT(!heap_.empty());
  std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
  const Held held = heap_.back();
  heap_.pop_back();
  return held;
}

ImpairedPort::ImpairedPort(Port& inner, const ImpairedPortOptions& options)
    : inner_(inner),
      facts_(inner.facts()),
      key_(options.key),
      prng_(options.seed),
      rx_(make_direction(options.rx, options.held_packets_max, prng_)),
      tx_(make_direction(options.tx, options.held_packets_max, prng_)) {}

ImpairedPort::~ImpairedPort() {
  for (Direction* direction : {&rx_, &tx_}) {
    while (direction->held.count() > 0) {
      Packet* const packet = direction->held.pop().packet;
      inner_.give_back({&packet, 1});
    }
  }
}

ImpairedPort::Direction ImpairedPort::make_direction(const Impairment& impairment, size_t held_max,
                                                     Prng& prng) const {
  Direction direction{.paths = {}, .held = HeldPackets(held_max)};
  for (uint16_t path = 0; path < facts_.paths; ++path) {
    direction.paths.emplace_back(impairment, prng.split());
  }
  return direction;
}

PortCounters ImpairedPort::counters() const {
  PortCounters counters = inner_.counters();
  counters.rx_malformed += rx_.damaged;
  counters.tx_refused += refused_;
  return counters;
}

Instant ImpairedPort::next_due() const {
  return std::min({rx_.held.earliest(), tx_.held.earliest(), inner_.next_due()});
}

void ImpairedPort::set_rx_impairment(uint16_t path, const Impairment& impairment) {
  rx_.paths[path].change(impairment);
}

void ImpairedPort::set_tx_impairment(uint16_t path, const Impairment& impairment) {
  tx_.paths[path].change(impairment);
}

size_t ImpairedPort::rx_burst(std::span<Packet*> out, Instant now) {
  send_due(now);
  std::array<Packet*, limits::burst_packets_max> arrived;
  const size_t room = std::min(arrived.size(), rx_.held.free_count());
  const size_t arrived_count = inner_.rx_burst({arrived.data(), room}, now);
  admit_burst(rx_, {arrived.data(), arrived_count}, now);

  size_t count = 0;
  for (; count < out.size() && rx_.held.earliest() <= now; ++count) {
    const HeldPackets::Held held = rx_.held.pop();
    out[count] = held.packet;
    out[count]->at = held.at;
  }
  return count;
}

size_t ImpairedPort::tx_burst(std::span<Packet* const> packets, Instant now) {
  send_due(now);
  const size_t taken = std::min(packets.size(), tx_.held.free_count());
  admit_burst(tx_, packets.first(taken), now);
  refused_ += packets.size() - taken;
  send_due(now);
  return taken;
}

/// There must be room for all of them; what is left beside it is for their copies.
void ImpairedPort::admit_burst(Direction& direction, std::span<Packet* const> packets,
                               Instant now) {
  for (size_t i = 0; i < packets.size(); ++i) {
    const size_t still_to_come = packets.size() - i - 1;
    admit(direction, packets[i], now, still_to_come);
  }
}

/// Asks the model and holds the packet until its time, or gives it back lost.
void ImpairedPort::admit(Direction& direction, Packet* packet, Instant now, size_t reserved) {
  CW_ASSERT(packet->path < direction.paths.size());
  ImpairmentModel& model = direction.paths[packet->path];
  const uint64_t key = key_ == nullptr ? 0 : key_(*packet);
  const Verdict verdict = model.on_packet(wire_bytes(*packet), now, key);
  const bool is_damaged = verdict.is_corrupted && !try_damage_own(packet, verdict.corrupt_bit);
  direction.damaged += is_damaged;
  if (verdict.copies == 0 || is_damaged) {
    inner_.give_back({&packet, 1});
    return;
  }
  if (verdict.is_marked) mark_congestion(*packet);
  direction.held.push(packet, verdict.at[0]);
  for (size_t i = 1; i < verdict.copies; ++i) {
    const bool is_held =
        direction.held.free_count() > reserved && try_hold_copy(direction, *packet, verdict.at[i]);
    copies_missed_ += !is_held;
  }
}

/// What the sender keeps must stay whole: of a shared packet a copy is damaged, and held instead.
bool ImpairedPort::try_damage_own(Packet*& packet, uint32_t bit) {
  if (facts_.icrc != IcrcMode::None || !inner_.is_shared(*packet)) {
    return try_damage(*packet, bit, facts_.icrc);
  }
  Packet* copy = nullptr;
  if (inner_.take_burst({&copy, 1}) == 0) return false;
  copy_packet(*packet, *copy);
  inner_.give_back({&packet, 1});
  packet = copy;
  return try_damage(*packet, bit, facts_.icrc);
}

bool ImpairedPort::try_hold_copy(Direction& direction, const Packet& packet, Instant at) {
  Packet* copy = nullptr;
  if (inner_.take_burst({&copy, 1}) == 0) return false;
  copy_packet(packet, *copy);
  take_in_payload(*copy);
  direction.held.push(copy, at);
  return true;
}

/// Hands the inner port what is due. What it does not take stays held, still due.
void ImpairedPort::send_due(Instant now) {
  while (tx_.held.earliest() <= now) {
    std::array<HeldPackets::Held, limits::burst_packets_max> due;
    std::array<Packet*, limits::burst_packets_max> packets;
    size_t count = 0;
    for (; count < due.size() && tx_.held.earliest() <= now; ++count) {
      due[count] = tx_.held.pop();
      packets[count] = due[count].packet;
    }
    const size_t taken = inner_.tx_burst({packets.data(), count}, now);
    for (size_t i = taken; i < count; ++i) tx_.held.put_back(due[i]);
    if (taken < count) return;
  }
}

}  // namespace cw
