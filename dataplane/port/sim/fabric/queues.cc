#include "dataplane/port/sim/fabric/queues.h"

#include <algorithm>
#include <memory>

#include "dataplane/base/assert.h"

namespace cw {

/// What a switch's ports share. Of each port with packets the heap has an instant before which none
/// of them leaves, so that what is left of the buffer follows from looking at few.
struct FabricQueues::Buffer {
  struct Due {
    Instant at;
    Link* link;
    bool operator<(const Due& other) const { return at > other.at; }  // the earliest in front
  };

  Buffer(const SwitchOptions& options, size_t ports)
      : bytes(options.buffer.count()), alpha(options.alpha) {
    heap.reserve(ports);
  }
  bool admits(uint64_t queue_bytes, uint32_t more) const {
    const uint64_t free = bytes - used;
    return more <= free &&
           static_cast<double>(queue_bytes + more) <= alpha * static_cast<double>(free);
  }
  void watch(Link& link, Instant at) {
    link.is_in_heap = true;
    heap.push_back({at, &link});
    std::push_heap(heap.begin(), heap.end());
  }

  uint64_t bytes, used = 0;
  double alpha;
  std::vector<Due> heap;
};

FabricQueues::FabricQueues(const Topology& topology, size_t packets_max, Bytes nic_queue)
    : links_(topology.links().size()), rare_(links_.size()), stays_(2 * packets_max) {
  CW_ASSERT(packets_max > 0 && 2 * packets_max < none);
  for (uint32_t i = 0; i < 2 * packets_max; ++i) stays_[i].next = i + 1;
  stays_[2 * packets_max - 1].next = none;
  for (uint16_t host = 0; host < topology.host_count(); ++host) {
    const uint32_t nic = topology.links_from(FabricNode::host(host)).front();
    add_port(topology, nic, {.limit = nic_queue.count()}, unshared);
  }
  for (uint16_t number = 0; number < topology.switch_count(); ++number) {
    const SwitchOptions& options = topology.options_of(number);
    const auto& ports = topology.links_from(FabricNode::at_switch(number));
    uint16_t buffer = unshared;
    if (options.buffer != Bytes(UINT64_MAX)) {
      buffer = static_cast<uint16_t>(buffers_.size());
      buffers_.emplace_back(options, ports.size());
    }
    const Kind kind{.limit = options.port_limit.count(),
                    .mark_above = options.mark_above.count(),
                    .counts_sending = options.counts_sending};
    for (const uint32_t link : ports) add_port(topology, link, kind, buffer);
  }
}

FabricQueues::~FabricQueues() = default;

void FabricQueues::add_port(const Topology& topology, uint32_t link, Kind kind, uint16_t buffer) {
  kind.cable = topology.links()[link].cable;
  const auto same = std::ranges::find_if(kinds_, [&](const Kind& other) {
    return other.cable == kind.cable && other.limit == kind.limit &&
           other.mark_above == kind.mark_above && other.counts_sending == kind.counts_sending;
  });
  links_[link].kind = static_cast<uint16_t>(same - kinds_.begin());
  links_[link].buffer = buffer;
  if (same == kinds_.end()) kinds_.push_back(kind);
  CW_ASSERT(kinds_.size() <= UINT16_MAX);
}

/// When the last bit has left.
Instant FabricQueues::send(Link& link, Kind& kind, uint32_t bytes, Instant from) {
  const uint64_t bps = kind.cable.rate.bps();
  Time& time = kind.times[bytes % kind.times.size()];
  if (time.bytes != bytes) {
    const uint64_t bit_ns = uint64_t{bytes} * 8'000'000'000;
    time = {bytes, Duration::from_ns(static_cast<int64_t>(bit_ns / bps)), bit_ns % bps};
  }
  if (link.free_at < from) {
    link.free_at = from;
    link.remainder = 0;
  }
  link.free_at += time.whole;
  link.remainder += time.rest;
  if (link.remainder >= bps) {
    link.remainder -= bps;
    link.free_at += Duration::from_ns(1);
  }
  return link.remainder == 0 ? link.free_at : link.free_at + Duration::from_ns(1);
}

/// The queue as it is at `now`.
void FabricQueues::release(Link& link, Instant now) {
  uint64_t left = 0;
  while (link.first != none && stays_[link.first].until <= now) {
    const uint32_t place = link.first;
    Stay& stay = stays_[place];
    left += stay.bytes;
    link.first = stay.next;
    stay.next = first_free_;
    first_free_ = place;
  }
  link.queue_bytes -= left;
  if (link.buffer != unshared) buffers_[link.buffer].used -= left;
}

void FabricQueues::release_all(Buffer& buffer, Instant now) {
  while (!buffer.heap.empty() && buffer.heap.front().at <= now) {
    Link& link = *buffer.heap.front().link;
    std::pop_heap(buffer.heap.begin(), buffer.heap.end());
    buffer.heap.pop_back();
    link.is_in_heap = false;
    release(link, now);
    if (link.first != none) buffer.watch(link, stays_[link.first].until);
  }
}

bool FabricQueues::has_room(uint32_t number, uint32_t bytes, Instant now) {
  Link& link = links_[number];
  release(link, now);
  const uint64_t limit = kinds_[link.kind].limit;
  if (bytes > limit || link.queue_bytes > limit - bytes) return false;
  if (link.buffer == unshared) return true;
  // What other ports may have sent since they were last looked at only makes more room.
  Buffer& buffer = buffers_[link.buffer];
  if (buffer.admits(link.queue_bytes, bytes)) return true;
  release_all(buffer, now);
  return buffer.admits(link.queue_bytes, bytes);
}

Instant FabricQueues::next_leaving(uint32_t link) const {
  return links_[link].first == none ? Instant::never() : stays_[links_[link].first].until;
}

void FabricQueues::hold(Link& link, uint32_t bytes, Instant until, Instant now) {
  if (first_free_ == none) {  // at least half of them are of packets that have long left
    for (Link& each : links_) release(each, now);
    CW_ASSERT(first_free_ != none);
  }
  const uint32_t place = first_free_;
  first_free_ = stays_[place].next;
  stays_[place] = {.until = until, .bytes = bytes};
  (link.first == none ? link.first : stays_[link.last].next) = place;
  link.last = place;
  link.queue_bytes += bytes;
  link.queue_bytes_max = std::max(link.queue_bytes_max, link.queue_bytes);
  if (link.buffer == unshared) return;
  Buffer& buffer = buffers_[link.buffer];
  buffer.used += bytes;
  if (!link.is_in_heap) buffer.watch(link, until);
}

FabricPassage FabricQueues::admit(uint32_t number, const FabricComing& packet) {
  if (!has_room(number, packet.bytes, packet.now)) {
    ++rare_[number].drops;
    return {};
  }
  Link& link = links_[number];
  Kind& kind = kinds_[link.kind];
  const bool is_marked = packet.takes_marks && link.queue_bytes + packet.bytes > kind.mark_above;
  const Instant free_at = link.remainder == 0 ? link.free_at : link.free_at + Duration::from_ns(1);
  const Instant departs = send(link, kind, packet.bytes, packet.from);
  const Instant until = kind.counts_sending ? departs : std::max(free_at, packet.from);
  if (until > packet.now) hold(link, packet.bytes, until, packet.now);
  ++link.packets;
  link.bytes += packet.bytes;
  if (is_marked) ++rare_[number].marks;
  return {.is_admitted = true, .is_marked = is_marked, .departs = departs};
}

FabricLinkCounters FabricQueues::counters_of(uint32_t number) const {
  const Link& link = links_[number];
  return {.packets = link.packets,
          .bytes = link.bytes,
          .drops = rare_[number].drops,
          .marks = rare_[number].marks,
          .queue_bytes_max = link.queue_bytes_max};
}

}  // namespace cw
