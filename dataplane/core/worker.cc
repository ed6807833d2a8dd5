#include "dataplane/core/worker.h"

#include <algorithm>

#include "dataplane/base/assert.h"

namespace cw {

Worker::Worker(std::span<const Side> sides) {
  CW_ASSERT(!sides.empty() && sides.size() <= sides_max);
  for (const Side& side : sides) {
    CW_ASSERT(side.port != nullptr && side.station != nullptr);
    lanes_[lane_count_++].side = side;
  }
}

Worker::~Worker() {
  for (Lane& lane : lanes()) {
    lane.side.port->give_back({lane.held.data(), lane.held_count});
    std::array<uint64_t, limits::burst_packets_max> cookies;
    while (lane.side.port->take_done(cookies) > 0) {
      // who lent it may be gone
    }
  }
}

bool Worker::turn(Instant now) {
  size_t work = 0;
  is_behind_ = false;
  notice_gap(now);
  for (Lane& lane : lanes()) work += receive(lane, now);               // port -> room above
  for (Lane& lane : lanes()) work += lane.side.station->on_time(now);  // due timers
  for (Lane& lane : lanes()) work += send(lane, now);                  // departures -> port
  work += run_change(now);                                             // control, between bursts
  counters_.add(Counter::turns);
  if (work == 0) counters_.add(Counter::turns_idle);
  return work > 0;
}

void Worker::notice_gap(Instant now) {
  const Duration gap = gaps_.observe(now);
  if (gap == Duration()) return;
  counters_.add(Counter::time_gaps);
  counters_.add(Counter::time_gap_us, static_cast<uint64_t>(gap.ns() / 1000));
  for (Lane& lane : lanes()) lane.side.station->on_gap(gap, now);
}

size_t Worker::receive(Lane& lane, Instant now) {
  std::array<Packet*, limits::burst_packets_max> burst;
  const size_t count = lane.side.port->rx_burst(burst, now);
  CW_ASSERT(count <= burst.size());
  if (count == 0) return 0;
  is_behind_ |= count == burst.size();
  uint64_t bytes = 0;
  for (size_t i = 0; i < count; ++i) bytes += burst[i]->bytes + burst[i]->payload_bytes;
  counters_.add(Counter::rx_packets, count);
  counters_.add(Counter::rx_bytes, bytes);
  lane.side.station->on_rx({burst.data(), count}, now);
  return count;
}

// More leaves than comes: else a queue that once built up would stay as long as packets come in
// full bursts. A packet of 9000 bytes from afar brings half a dozen frames of hosts and more.
size_t Worker::send(Lane& lane, Instant now) {
  constexpr int bursts_max = 16;
  size_t work = 0;
  for (int i = 0; i < bursts_max; ++i) {
    const size_t moved = send_burst(lane, now);
    tell_done(lane);
    work += moved;
    if (moved < limits::burst_packets_max || lane.held_count > 0) break;
  }
  return work;
}

// What the port did not take stays ours and goes first next turn. The room above is asked only for
// what there is room to hold, so nothing is ever collected without a place to wait.
size_t Worker::send_burst(Lane& lane, Instant now) {
  const std::span<Packet*> room = std::span(lane.held).subspan(lane.held_count);
  const size_t collected = lane.side.station->collect(room, now);
  CW_ASSERT(collected <= room.size());
  lane.held_count += collected;
  if (lane.held_count == 0) return 0;

  // Summed before the port owns them, and reduced by what it leaves.
  uint64_t bytes = 0;
  for (size_t i = 0; i < lane.held_count; ++i) {
    bytes += lane.held[i]->bytes + lane.held[i]->payload_bytes;
  }
  const size_t taken = lane.side.port->tx_burst({lane.held.data(), lane.held_count}, now);
  CW_ASSERT(taken <= lane.held_count);
  std::move(lane.held.begin() + taken, lane.held.begin() + lane.held_count, lane.held.begin());
  lane.held_count -= taken;
  for (size_t i = 0; i < lane.held_count; ++i) {
    bytes -= lane.held[i]->bytes + lane.held[i]->payload_bytes;
  }
  counters_.add(Counter::tx_packets, taken);
  counters_.add(Counter::tx_bytes, bytes);
  counters_.add(Counter::tx_held, lane.held_count);
  return collected + taken;
}

// In the turn in which the port has read them: whoever lent them may be waiting.
void Worker::tell_done(Lane& lane) {
  std::array<uint64_t, limits::burst_packets_max> cookies;
  while (const size_t count = lane.side.port->take_done(cookies)) {
    lane.side.station->on_done({cookies.data(), count});
  }
}

size_t Worker::run_change(Instant now) {
  if (!mailbox_.run_one(now)) return 0;
  counters_.add(Counter::changes);
  return 1;
}

Instant Worker::next_wakeup() const {
  Instant next = Instant::never();
  for (const Lane& lane : lanes()) {
    if (lane.held_count > 0) return Instant();
    next = earliest(next, lane.side.station->next_wakeup(), lane.side.port->next_due());
  }
  return next;
}

}  // namespace cw
