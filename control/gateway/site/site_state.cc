#include "control/gateway/site/site_state.h"

#include <algorithm>
#include <atomic>
#include <initializer_list>
#include <span>
#include <tuple>
#include <utility>

#include "control/gateway/site/live/steering.h"

namespace cw::site {
namespace {

/// Of the paths that have been measured.
Duration shortest(std::span<const PathState> paths, Duration PathState::* time) {
  Duration result;
  for (const PathState& path : paths) {
    if (path.*time == Duration()) continue;
    if (result == Duration() || path.*time < result) result = path.*time;
  }
  return result;
}

template <class Counts>
void add(Counts& sum, const Counts& other, std::initializer_list<uint64_t Counts::*> counts) {
  for (uint64_t Counts::* count : counts) sum.*count += other.*count;
}

void add(PortCounters& sum, const PortCounters& other) {
  using C = PortCounters;
  add(sum, other,
      {&C::rx_packets, &C::rx_bytes, &C::tx_packets, &C::tx_bytes, &C::rx_dropped, &C::rx_malformed,
       &C::tx_refused, &C::system_calls});
}

void add(TunPortStatus& sum, const TunPortStatus& other) {
  using C = TunPortStatus;
  add(sum, other,
      {&C::rx_joined, &C::rx_pieces, &C::tx_joined, &C::tx_pieces, &C::tx_lost, &C::device_errors});
}

void add(UdpPortStatus& sum, const UdpPortStatus& other) {
  using C = UdpPortStatus;
  add(sum, other,
      {&C::rx_unknown, &C::rx_truncated, &C::tx_messages, &C::tx_unrouted, &C::tx_too_big,
       &C::tx_lost, &C::tx_kept, &C::icmp_errors});
  sum.has_capped_buffers |= other.has_capped_buffers;
}

/// What is not of a shard the first has told. A device that does not count by queue has none.
void add(FrameDeviceStatus& sum, const FrameDeviceStatus& other) {
  sum.counters += other.counters;
  if (sum.trouble.empty()) sum.trouble = other.trouble;
  const size_t queues = std::max(sum.rx_of_queue.size(), other.rx_of_queue.size());
  sum.rx_of_queue.resize(queues);
  for (size_t i = 0; i < other.rx_of_queue.size(); ++i) sum.rx_of_queue[i] += other.rx_of_queue[i];
}

void add(FrameLanStatus& sum, const FrameLanStatus& other) {
  using C = FrameLanStatus;
  add(sum, other,
      {&C::rx_not_ours, &C::rx_vlan, &C::rx_group, &C::rx_other, &C::rx_neighbour, &C::rx_query,
       &C::rx_local, &C::rx_joined, &C::rx_finished, &C::echoes_answered, &C::questions,
       &C::reports, &C::tx_link_down, &C::tx_unresolved, &C::tx_unrouted});
  add(sum.device, other.device);
  sum.neighbours = std::max(sum.neighbours, other.neighbours);
}

void add(FrameWanStatus& sum, const FrameWanStatus& other) {
  using C = FrameWanStatus;
  add(sum, other,
      {&C::rx_other, &C::rx_unknown, &C::tx_unrouted, &C::tx_link_down, &C::tx_unresolved});
  add(sum.device, other.device);
  for (const std::string& hop : other.unresolved) {
    if (std::ranges::find(sum.unresolved, hop) == sum.unresolved.end()) {
      sum.unresolved.push_back(hop);
    }
  }
}

/// Between two turns one shard may have others than another.
void add(std::vector<gateway::Groups::Group>& sum,
         const std::vector<gateway::Groups::Group>& others) {
  for (const gateway::Groups::Group& each : others) {
    const auto found = std::ranges::find_if(sum, [&each](const gateway::Groups::Group& it) {
      return it.address == each.address && it.is_v6 == each.is_v6;
    });
    if (found == sum.end()) {
      sum.push_back(each);
    } else {
      found->frames += each.frames;
      found->bytes += each.bytes;
    }
  }
}

}  // namespace

void SealTotals::add(const seal::SealerCounts& counts) {
  const auto now = [](const std::atomic<uint64_t>& count) {
    return count.load(std::memory_order_relaxed);
  };
  add({.sealed = now(counts.sealed),
       .opened = now(counts.opened),
       .unsent = now(counts.no_keys),
       .handshakes = now(counts.handshakes),
       .handshakes_full = now(counts.handshakes_full),
       .handshakes_wrong = now(counts.handshakes_wrong)});
}

void SealTotals::add(const SealTotals& other) {
  using C = SealTotals;
  site::add(*this, other,
            {&C::sealed, &C::opened, &C::unsent, &C::handshakes, &C::handshakes_full,
             &C::handshakes_wrong});
}

void SiteState::take(std::vector<seal::KeyringView> views) {
  keys = std::move(views);
  for (PeerView& peer : peers) {
    if (peer.is_up || keys[peer.peer].has_keys) continue;
    const std::string& trouble = keys[peer.peer].trouble;
    peer.why =
        trouble.empty() ? "no keys yet: nobody has answered a handshake" : "no keys: " + trouble;
  }
}

bool PeerView::may_carry() const { return silence <= Steering::silence_max + rtt() * 4; }

Duration PeerView::rtt() const { return shortest(paths, &PathState::rtt_smoothed); }

Duration PeerView::rtt_min() const { return shortest(paths, &PathState::rtt_min); }

void SiteState::add(const SiteState& other) {
  seals.add(other.seals);
  at = std::max(at, other.at);
  drops.add(other.drops);
  worker.add(other.worker);
  rooms.add(other.rooms);
  site::add(lan_port, other.lan_port);
  site::add(wan_port, other.wan_port);
  site::add(lan, other.lan);
  site::add(wan, other.wan);
  if (lan_over_frames) site::add(*lan_over_frames, *other.lan_over_frames);
  if (wan_over_frames) site::add(*wan_over_frames, *other.wan_over_frames);
  impaired.insert(impaired.end(), other.impaired.begin(), other.impaired.end());
  peers.insert(peers.end(), other.peers.begin(), other.peers.end());
  lanes.insert(lanes.end(), other.lanes.begin(), other.lanes.end());
  site::add(groups, other.groups);
  swaps.insert(swaps.end(), other.swaps.begin(), other.swaps.end());
  sent_by.insert(sent_by.end(), other.sent_by.begin(), other.sent_by.end());
  sort();
  has_open_swaps |= other.has_open_swaps;
  wants_policies |= other.wants_policies;
  is_quiet &= other.is_quiet;
  is_drained &= other.is_drained;
  shards.insert(shards.end(), other.shards.begin(), other.shards.end());
  if (!beside) {
    beside = other.beside;
  } else if (other.beside) {
    beside->add(*other.beside);
  }
  out_before += other.out_before;
}

void BesideState::add(const BesideState& other) {
  peers.insert(peers.end(), other.peers.begin(), other.peers.end());
  std::ranges::sort(peers, {},
                    [](const PeerView& each) { return std::tuple(each.peer, each.link); });
  crossed += other.crossed;
  waiting += other.waiting;
  out += other.out;
  is_quiet &= other.is_quiet;
  has_left &= other.has_left;
  is_swapping |= other.is_swapping;
}

void SiteState::sort() {
  std::ranges::sort(peers, {},
                    [](const PeerView& each) { return std::tuple(each.peer, each.link); });
  std::ranges::sort(lanes, {}, [](const gateway::LaneView& each) {
    return std::tuple(each.peer, each.class_index);
  });
  std::ranges::sort(swaps, {}, [](const SwapView& each) {
    return std::tuple(each.peer, each.link, each.class_index, each.is_outward, each.fate);
  });
}

}  // namespace cw::site
