#include "dataplane/port/sim/fabric/network.h"

#include <algorithm>
#include <utility>

#include "dataplane/base/assert.h"

namespace cw {
namespace {

Duration shortest_delay(const Topology& topology) {
  const auto& links = topology.links();
  return std::ranges::min_element(links, {}, [](const auto& link) { return link.cable.delay; })
      ->cable.delay;
}

}  // namespace

FabricNetwork::FabricNetwork(Topology topology, const FabricOptions& options)
    : topology_((CW_ASSERT(validate(topology).has_value()), std::move(topology))),
      options_(options),
      prng_(options.seed),
      routes_(topology_, prng_.split()),
      groups_(topology_),
      frames_(options.frames),
      calendar_(options.frames),
      queues_(topology_, options.frames, options.nic_queue),
      ahead_(shortest_delay(topology_)),
      ready_(topology_.host_count()) {
  CW_ASSERT(options.paths > 0);
  for (const Topology::Link& link : topology_.links()) targets_.push_back(link.target);
  const uint16_t hosts = topology_.host_count();
  for (uint16_t host = 0; host < hosts; ++host) {
    ports_.push_back(std::make_unique<FabricPort>(*this, options_, host, hosts));
  }
}

bool FabricNetwork::join(uint16_t host, uint16_t group) {
  return groups_.join(topology_, host, group);
}

void FabricNetwork::set_impairment(uint32_t link, const Impairment& impairment) {
  CW_ASSERT(impairment.rate == Rate());
  models_.resize(topology_.links().size());
  auto& model = models_[link];
  // Each link has a generator of its own, whenever it gets it, so no link disturbs another.
  const uint64_t seed = options_.seed * 0x9e3779b97f4a7c15 + link + 1;
  if (model == nullptr)
    model = std::make_unique<ImpairmentModel>(impairment, Prng(seed));
  else
    model->change(impairment);
}

void FabricNetwork::set_all_impairments(const Impairment& impairment) {
  for (uint32_t link = 0; link < topology_.links().size(); ++link) set_impairment(link, impairment);
}

void FabricNetwork::advance_to(Instant t) {
  CW_ASSERT(t >= now_ && t != Instant::never());
  while (try_step(t)) {
  }
  now_ = t;
  if (t > calendar_.now()) calendar_.advance_to(t);
}

Instant FabricNetwork::run_until(Instant limit) {
  CW_ASSERT(limit >= now_);
  while (!has_ready()) {
    if (try_step(limit)) continue;
    if (limit != Instant::never()) advance_to(limit);
    return now_;
  }
  while (try_step(now_)) {
  }
  return now_;
}

/// The next thing that happens, if it does by `limit`.
bool FabricNetwork::try_step(Instant limit) {
  if (!has_due()) look_ahead(limit);
  if (!has_due() || due_[due_first_].at > limit) return false;
  const Calendar::Due due = due_[due_first_++];
  now_ = due.at;
  arrive(due.number);
  return true;
}

/// Takes what comes next, as far as nothing that happens meanwhile can come in between. What it
/// will touch is called into the cache here, for many at once: most of a hop is waiting for memory.
void FabricNetwork::look_ahead(Instant limit) {
  due_first_ = 0;
  due_end_ = calendar_.pull(limit, ahead_, due_);
  const auto dues = std::span(due_).first(due_end_);
  for (const Calendar::Due& due : dues) {
    FabricHead& head = frames_.head(due.number);
    const FabricNode at = targets_[head.link];
    if (!at.is_switch) {
      ports_[at.number]->prefetch();
      frames_.prefetch(due.number);
    } else if (head.target < group_peer_first) {
      head.next = routes_.next(at.number, head.target, head.flow);
      queues_.prefetch(head.next);
    }
  }
  for (const Calendar::Due& due : dues) {
    const FabricHead& head = frames_.head(due.number);
    const bool is_going_on = targets_[head.link].is_switch && head.target < group_peer_first;
    if (is_going_on) queues_.prefetch_more(head.next);
  }
}

size_t FabricNetwork::take_ready(std::span<uint16_t> hosts) {
  size_t count = 0;
  while (count < hosts.size() && !ready_.is_empty()) {
    const uint16_t host = ready_.pop();
    ports_[host]->is_ready_ = false;
    hosts[count++] = host;
  }
  return count;
}

bool FabricNetwork::is_routed(uint16_t host, const Packet& packet) const {
  if (packet.path >= options_.paths) return false;
  if (packet.peer < group_peer_first) {
    return packet.peer < ports_.size() && packet.peer != host;
  }
  const GroupTree* const tree = groups_.find(packet.peer);
  return tree != nullptr && tree->is_member(host);
}

/// Never: it is taken. Else when the NIC's queue next gets shorter.
Instant FabricNetwork::try_send(uint16_t host, const Packet& packet, Instant now) {
  const uint32_t nic = routes_.link_from(host);
  const auto wire = static_cast<uint32_t>(wire_bytes(packet).count()) + options_.overhead_bytes;
  CW_ASSERT(now == now_ && wire > 0 && wire <= UINT16_MAX);
  if (!queues_.has_room(nic, wire, now)) return queues_.next_leaving(nic);
  ++counters_.sent;
  if (!is_routed(host, packet)) {
    ++counters_.unrouted;
    return Instant::never();
  }
  if (lost_ && lost_(host, packet)) {
    ++counters_.lost;
    return Instant::never();
  }
  const uint32_t place = frames_.try_write(packet, options_.carry_bytes);
  if (place == FabricFrames::none) {
    ++counters_.no_frame;
    return Instant::never();
  }
  frames_[place].source = host;
  FabricHead& head = frames_.head(place);
  head.wire_bytes = static_cast<uint16_t>(wire);
  head.flow = fabric_flow(host, packet.peer, packet.path);
  if (options_.balance == FabricBalance::Packet) head.flow ^= static_cast<uint32_t>(prng_.next());
  ++counters_.in_flight;
  constexpr uint32_t traced_bytes_max = 64;  // every header of ours
  trace_.add({packet.data, std::min(packet.bytes, traced_bytes_max)});
  put(place, nic, std::max(now, packet.at));
  return Instant::never();
}

/// Its fate is one that counters_ counts.
void FabricNetwork::end(uint32_t frame, uint64_t& fate) {
  ++fate;
  --counters_.in_flight;
  frames_.give_back(frame);
}

void FabricNetwork::hand_over(uint32_t frame, Packet& packet) {
  frames_.read(frame, packet);
  trace_.add(uint64_t{packet.peer} << 32 | packet.bytes);
  end(frame, counters_.delivered);
}

void FabricNetwork::arrive(uint32_t place) {
  const FabricHead& head = frames_.head(place);
  if (head.is_lost) return end(place, counters_.lost);
  const FabricNode at = targets_[head.link];
  if (!at.is_switch) return deliver(place, at.number);
  if (head.target < group_peer_first) return put(place, head.next, now_);
  spread(place, *groups_.find(head.target), at.number);
}

/// On by all links of the tree but the one that it came by; the last takes the packet itself.
void FabricNetwork::spread(uint32_t place, const GroupTree& tree, uint16_t at_switch) {
  const uint32_t back = Topology::back(frames_.head(place).link);
  uint32_t last = GroupTree::none;
  for (uint32_t at = tree.first_branch(at_switch); at != GroupTree::none;) {
    const GroupTree::Branch& branch = tree.branch(at);
    at = branch.next;
    if (branch.link == back) continue;
    if (last != GroupTree::none) put_copy(place, last);
    last = branch.link;
  }
  if (last == GroupTree::none) return end(place, counters_.unrouted);
  put(place, last, now_);
}

void FabricNetwork::put_copy(uint32_t place, uint32_t link) {
  ++counters_.copies;
  const uint32_t copy = frames_.try_copy(place);
  if (copy == FabricFrames::none) {
    ++counters_.no_frame;
    return;
  }
  ++counters_.in_flight;
  put(copy, link, now_);
}

/// In front of a link, on which its first bit may leave from `from` on.
void FabricNetwork::put(uint32_t place, uint32_t link, Instant from) {
  FabricHead& head = frames_.head(place);
  head.link = link & 0xfff'ffff;
  const FabricPassage passage = queues_.admit(
      link, {.bytes = head.wire_bytes, .takes_marks = head.ecn != 0, .now = now_, .from = from});
  trace(head, passage);
  if (!passage.is_admitted) return end(place, counters_.dropped);
  if (passage.is_marked) head.ecn = 3;
  if (!models_.empty() && models_[link] != nullptr) {
    return judge(place, *models_[link], passage.departs);
  }
  calendar_.push(place, passage.departs + queues_.delay_of(link));
}

/// What the link's model makes of it. Who is lost travels as all others, to where it is missing.
void FabricNetwork::judge(uint32_t place, ImpairmentModel& model, Instant departs) {
  FabricHead& head = frames_.head(place);
  const Duration delay = queues_.delay_of(head.link);
  const Verdict verdict = model.on_packet(Bytes(head.wire_bytes), departs, key_of(place));
  head.is_lost = verdict.copies == 0;
  if (head.is_lost) return calendar_.push(place, departs + delay);
  if (verdict.is_corrupted &&
      !(options_.icrc == IcrcMode::None && frames_.try_flip(place, verdict.corrupt_bit))) {
    head.is_damaged = true;
  }
  for (size_t i = 1; i < verdict.copies; ++i) {
    ++counters_.copies;
    const uint32_t copy = frames_.try_copy(place);
    if (copy == FabricFrames::none) {
      ++counters_.no_frame;
      continue;
    }
    ++counters_.in_flight;
    calendar_.push(copy, verdict.at[i] + delay);
  }
  calendar_.push(place, verdict.at[0] + delay);
}

uint64_t FabricNetwork::key_of(uint32_t place) const {
  if (options_.key == nullptr) return 0;
  FabricFrame frame = frames_[place];
  Packet packet;
  packet.data = frame.data;
  packet.bytes = std::min<uint32_t>(frame.bytes, FabricFrame::data_bytes);
  return options_.key(packet);
}

void FabricNetwork::deliver(uint32_t frame, uint16_t host) {
  FabricPort& port = *ports_[host];
  if (frames_.head(frame).is_damaged) {
    ++port.counters_.rx_malformed;
    return end(frame, counters_.rx_damaged);
  }
  frames_[frame].at = now_;
  if (!port.try_arrive(frames_, frame)) return end(frame, counters_.rx_dropped);
  if (std::exchange(port.is_ready_, true)) return;
  CW_ASSERT(ready_.try_push(host));
}

void FabricNetwork::trace(const FabricHead& head, const FabricPassage& passage) {
  trace_.add(static_cast<uint64_t>(now_.ns()));
  trace_.add(uint64_t{head.link} << 32 | head.wire_bytes);
  trace_.add(static_cast<uint64_t>(passage.departs.ns()) << 2 | uint64_t{passage.is_marked} << 1 |
             uint64_t{passage.is_admitted});
}

FabricCounters FabricNetwork::counters() const {
  FabricCounters counters = counters_;
  for (uint32_t link = 0; link < topology_.links().size(); ++link) {
    const FabricLinkCounters of_link = queues_.counters_of(link);
    counters.hops += of_link.packets;
    counters.marked += of_link.marks;
  }
  return counters;
}

}  // namespace cw
