#include "dataplane/port/sim/network.h"

#include <algorithm>
#include <cstring>

#include "dataplane/base/assert.h"

namespace cw {

SimNetwork::SimNetwork(const SimOptions& options)
    : options_(options),
      prng_(options.seed),
      wire_(options.wire_packets, size_t{options.headers_bytes} + options.payload_max),
      copies_(1, size_t{options.headers_bytes} + options.payload_max) {
  CW_ASSERT(options.paths > 0);
}

SimPort& SimNetwork::add_port() {
  ports_.push_back(std::make_unique<SimPort>(*this, options_));
  return *ports_.back();
}

SimPeers SimNetwork::join(SimPort& first, SimPort& second, const Impairment& each_way) {
  CW_ASSERT(&first != &second && counters_.sent == 0);
  const SimPeers peers{.of_first = first.facts_.peers++, .of_second = second.facts_.peers++};
  add_link(first, peers.of_first, second, peers.of_second, each_way);
  add_link(second, peers.of_second, first, peers.of_first, each_way);
  return peers;
}

/// One direction of all paths. Each link has a generator of its own, so no link disturbs another.
void SimNetwork::add_link(SimPort& source, uint16_t target_peer, SimPort& target,
                          uint16_t source_peer, const Impairment& impairment) {
  CW_ASSERT(source.links_.size() == size_t{target_peer} * options_.paths);
  for (uint16_t path = 0; path < options_.paths; ++path) {
    links_.push_back(std::make_unique<SimLink>(SimLink{
        .model = ImpairmentModel(impairment, prng_.split()),
        .target = &target,
        .lane = target.arrivals_.add_lane(),
        .source_peer = source_peer,
        .path = path,
        .id = static_cast<uint32_t>(links_.size()),
    }));
    source.links_.push_back(links_.back().get());
  }
}

SimLink& SimNetwork::link_of(SimPort& source, SimRoute route) const {
  CW_ASSERT(route.peer < source.facts_.peers && route.path < options_.paths);
  return *source.links_[size_t{route.peer} * options_.paths + route.path];
}

void SimNetwork::set_impairment(SimPort& source, SimRoute route, const Impairment& impairment) {
  link_of(source, route).model.change(impairment);
}

void SimNetwork::set_all_impairments(const Impairment& impairment) {
  for (const auto& link : links_) link->model.change(impairment);
}

void SimNetwork::advance_to(Instant t) {
  CW_ASSERT(t >= now_ && t != Instant::never());
  now_ = t;
}

Instant SimNetwork::next_event() const {
  Instant earliest = Instant::never();
  for (const auto& port : ports_) earliest = std::min(earliest, port->next_event());
  return earliest;
}

SimCounters SimNetwork::counters() const {
  SimCounters counters = counters_;
  for (const auto& link : links_) counters.lost += link->model.counters().lost_total();
  for (const auto& link : links_) counters.extra_copies += link->model.counters().extra_copies;
  for (const auto& port : ports_) counters.in_flight += port->arrivals_.count();
  return counters;
}

const ImpairmentCounters& SimNetwork::counters_of(SimPort& source, SimRoute route) const {
  return link_of(source, route).model.counters();
}

/// Takes the packet out of `frame`, which the port then has back; or a copy, when it is shared.
void SimNetwork::carry(SimLink* link, SimFrame& frame, Instant now) {
  ++counters_.sent;
  if (link == nullptr) {
    ++counters_.unrouted;
    return;
  }
  Packet& packet = frame.packet;
  const Bytes bytes = wire_bytes(packet) + Bytes(options_.overhead_bytes);
  const uint64_t key = options_.key == nullptr ? 0 : options_.key(packet);
  const Verdict verdict = link->model.on_packet(bytes, now, key);
  trace(*link, packet, now, verdict);
  if (verdict.copies == 0) return;
  if (packet.more_owners == 0) return carry_off(*link, frame, verdict);
  SimFrame* const copy = copies_.try_take();
  copy_packet(packet, copy->packet);
  carry_off(*link, *copy, verdict);
  copies_.give_back(copy);
}

void SimNetwork::carry_off(SimLink& link, SimFrame& frame, const Verdict& verdict) {
  Packet& packet = frame.packet;
  if (options_.carry_bytes) take_in_payload(packet);
  if (packet.payload != nullptr) packet.cookie = 0;  // nobody waits for it over there
  if (verdict.is_corrupted) {
    frame.is_damaged = !try_damage(packet, verdict.corrupt_bit, options_.icrc);
  }
  if (verdict.is_marked) mark_congestion(packet);
  packet.peer = link.source_peer;
  packet.path = link.path;
  for (size_t i = 0; i < verdict.copies; ++i) {
    launch(link, frame, verdict.at[i], i + 1 == verdict.copies);
  }
}

void SimNetwork::launch(SimLink& link, SimFrame& frame, Instant at, bool is_final_copy) {
  SimFrame* flight = is_final_copy ? wire_.try_move(frame) : wire_.try_take();
  if (flight == nullptr) {
    ++counters_.wire_full;
    return;
  }
  if (!is_final_copy) {
    copy_packet(frame.packet, flight->packet);
    flight->is_damaged = frame.is_damaged;
  }
  flight->packet.at = at;
  flight->order = order_++;
  link.target->arrivals_.push(link.lane, flight);
}

void SimNetwork::trace(const SimLink& link, const Packet& packet, Instant now,
                       const Verdict& verdict) {
  constexpr uint32_t traced_bytes_max = 64;  // every header of ours
  trace_.add(static_cast<uint64_t>(now.ns()));
  trace_.add(uint64_t{link.id} << 32 | (packet.bytes + packet.payload_bytes));
  trace_.add({packet.data, std::min(packet.bytes, traced_bytes_max)});
  trace_.add(uint64_t{verdict.corrupt_bit} << 32 | uint64_t{verdict.is_marked} << 24 |
             uint64_t{verdict.is_corrupted} << 16 | uint64_t{verdict.copies} << 8 |
             static_cast<uint64_t>(verdict.lost));
  for (size_t i = 0; i < verdict.copies; ++i) trace_.add(static_cast<uint64_t>(verdict.at[i].ns()));
}

}  // namespace cw
