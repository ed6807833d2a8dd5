#include "dataplane/core/turn/worker.h"

#include <algorithm>

#include "dataplane/base/assert.h"

namespace cw {

namespace {

// What the two kinds of sides call alike.

uint64_t bytes_of(const Packet* packet) { return packet->bytes + packet->payload_bytes; }
uint64_t bytes_of(const Send& send) { return transport_bytes(send); }

size_t post(Port& port, std::span<Packet* const> packets, Instant now) {
  return port.tx_burst(packets, now);
}
size_t post(WanPort& port, std::span<const Send> sends, Instant now) {
  return port.send(sends, now);
}

void give_back(Port& port, std::span<Packet* const> packets) { port.give_back(packets); }
void give_back(WanPort& port, std::span<const Send> sends) {
  for (const Send& send : sends) {
    if (send.packet != nullptr) port.give_back({&send.packet, 1});
  }
}

void tell_done(Worker::Side&) {}
// In the turn in which the port has read them: whoever lent them may be waiting.
void tell_done(Worker::WanSide& side) {
  std::array<uint64_t, limits::burst_packets_max> cookies;
  while (const size_t count = side.port->take_done(cookies)) {
    side.station->on_done({cookies.data(), count});
  }
}

}  // namespace

Worker::Worker(std::span<const Side> sides, const WanSide& wan) {
  CW_ASSERT(sides.size() <= sides_max);
  for (const Side& side : sides) {
    CW_ASSERT(side.port != nullptr && side.station != nullptr);
    lanes_[lane_count_++].side = side;
  }
  CW_ASSERT((wan.port != nullptr) == (wan.station != nullptr));
  CW_ASSERT(lane_count_ > 0 || wan.port != nullptr);
  wan_.side = wan;
}

Worker::~Worker() {
  for_each([](auto& lane) { give_back(*lane.side.port, {lane.held.data(), lane.held_count}); });
  if (wan_.side.port == nullptr) return;
  std::array<uint64_t, limits::burst_packets_max> cookies;
  while (wan_.side.port->take_done(cookies) > 0) {
    // who lent it may be gone
  }
}

bool Worker::turn(Instant now) {
  size_t work = 0;
  if (busy_since_ != Instant::never()) turn_times_.add(now - busy_since_);
  is_behind_ = false;
  notice_gap(now);
  for_each([&](auto& lane) { work += receive(lane, now); });               // port -> room above
  for_each([&](auto& lane) { work += lane.side.station->on_time(now); });  // due timers
  for_each([&](auto& lane) { work += send(lane, now); });                  // departures -> port
  work += run_change(now);                                                 // between bursts
  counters_.add(Counter::turns);
  if (work == 0) counters_.add(Counter::turns_idle);
  busy_since_ = work == 0 ? Instant::never() : now;
  return work > 0;
}

void Worker::notice_gap(Instant now) {
  const Duration gap = gaps_.observe(now);
  if (gap == Duration()) return;
  counters_.add(Counter::time_gaps);
  counters_.add(Counter::time_gap_us, static_cast<uint64_t>(gap.ns() / 1000));
  for_each([&](auto& lane) { lane.side.station->on_gap(gap, now); });
}

void Worker::note_received(size_t packets, uint64_t bytes) {
  is_behind_ |= packets == limits::burst_packets_max;
  counters_.add(Counter::rx_packets, packets);
  counters_.add(Counter::rx_bytes, bytes);
}

size_t Worker::receive(Lane& lane, Instant now) {
  std::array<Packet*, limits::burst_packets_max> burst;
  const size_t count = lane.side.port->rx_burst(burst, now);
  CW_ASSERT(count <= burst.size());
  if (count == 0) return 0;
  uint64_t bytes = 0;
  for (size_t i = 0; i < count; ++i) bytes += bytes_of(burst[i]);
  note_received(count, bytes);
  lane.side.station->on_rx({burst.data(), count}, now);
  return count;
}

size_t Worker::receive(WanLane& lane, Instant now) {
  const size_t room = std::min(lane.side.station->arrivals_max(), lane.arrived.size());
  if (room == 0) return 0;
  const size_t count = lane.side.port->receive(std::span(lane.arrived).first(room), now);
  CW_ASSERT(count <= room);
  if (count == 0) return 0;
  const std::span<const Arrival> arrived(lane.arrived.data(), count);
  uint64_t bytes = 0;
  for (const Arrival& each : arrived) bytes += each.bytes;
  note_received(count, bytes);
  lane.side.station->on_arrivals(arrived, now);
  lane.side.port->end_arrivals();
  return count;
}

// More leaves than comes: else a queue that once built up would stay as long as packets come in
// full bursts. A packet of 9000 bytes from afar brings half a dozen frames of hosts and more.
template <class AnyLane>
size_t Worker::send(AnyLane& lane, Instant now) {
  constexpr int bursts_max = 16;
  size_t work = 0;
  for (int i = 0; i < bursts_max; ++i) {
    const size_t moved = send_burst(lane, now);
    tell_done(lane.side);
    work += moved;
    if (moved < limits::burst_packets_max || lane.held_count > 0) break;
  }
  return work;
}

// What the port did not take stays ours and goes first next turn. The room above is asked only for
// what there is room to hold, so nothing is ever collected without a place to wait.
template <class AnyLane>
size_t Worker::send_burst(AnyLane& lane, Instant now) {
  const auto room = std::span(lane.held).subspan(lane.held_count);
  const size_t collected = lane.side.station->collect(room, now);
  CW_ASSERT(collected <= room.size());
  lane.held_count += collected;
  if (lane.held_count == 0) return 0;
  // Summed before the port owns them, and reduced by what it leaves.
  const auto bytes_held = [&] {
    uint64_t bytes = 0;
    for (size_t i = 0; i < lane.held_count; ++i) bytes += bytes_of(lane.held[i]);
    return bytes;
  };
  const uint64_t bytes = bytes_held();
  const size_t taken = post(*lane.side.port, {lane.held.data(), lane.held_count}, now);
  CW_ASSERT(taken <= lane.held_count);
  std::move(lane.held.begin() + taken, lane.held.begin() + lane.held_count, lane.held.begin());
  lane.held_count -= taken;
  counters_.add(Counter::tx_packets, taken);
  counters_.add(Counter::tx_bytes, bytes - bytes_held());
  counters_.add(Counter::tx_held, lane.held_count);
  return collected + taken;
}

size_t Worker::run_change(Instant now) {
  if (!mailbox_.run_one(now)) return 0;
  counters_.add(Counter::changes);
  return 1;
}

Instant Worker::next_wakeup() const {
  Instant next = Instant::never();
  for_each([&](const auto& lane) {
    next = earliest(next, lane.side.station->next_wakeup(), lane.side.port->next_due());
    if (lane.held_count > 0) next = Instant();
  });
  return next;
}

}  // namespace cw
