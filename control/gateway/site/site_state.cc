#include "control/gateway/site/site_state.h"

#include <algorithm>
#include <span>
#include <tuple>

namespace cw::site {
namespace {

/// Of the paths that have been measured.
Duration shortest(std::span<const PathState> paths, Duration PathState::*time) {
  Duration result;
  for (const PathState& path : paths) {
    if (path.*time == Duration()) continue;
    if (result == Duration() || path.*time < result) result = path.*time;
  }
  return result;
}

void add(PortCounters& sum, const PortCounters& other) {
  for (uint64_t PortCounters::*count :
       {&PortCounters::rx_packets, &PortCounters::rx_bytes, &PortCounters::tx_packets,
        &PortCounters::tx_bytes, &PortCounters::rx_dropped, &PortCounters::rx_malformed,
        &PortCounters::tx_refused, &PortCounters::system_calls}) {
    sum.*count += other.*count;
  }
}

void add(TunPortStatus& sum, const TunPortStatus& other) {
  for (uint64_t TunPortStatus::*count :
       {&TunPortStatus::rx_joined, &TunPortStatus::rx_pieces, &TunPortStatus::tx_joined,
        &TunPortStatus::tx_pieces, &TunPortStatus::tx_lost, &TunPortStatus::device_errors}) {
    sum.*count += other.*count;
  }
}

void add(UdpPortStatus& sum, const UdpPortStatus& other) {
  for (uint64_t UdpPortStatus::*count :
       {&UdpPortStatus::rx_unknown, &UdpPortStatus::rx_truncated, &UdpPortStatus::tx_messages,
        &UdpPortStatus::tx_unrouted, &UdpPortStatus::tx_too_big, &UdpPortStatus::tx_lost,
        &UdpPortStatus::tx_kept, &UdpPortStatus::icmp_errors}) {
    sum.*count += other.*count;
  }
  sum.has_capped_buffers |= other.has_capped_buffers;
}

}  // namespace

Duration PeerView::rtt() const { return shortest(paths, &PathState::rtt_smoothed); }

Duration PeerView::rtt_min() const { return shortest(paths, &PathState::rtt_min); }

void SiteState::add(const SiteState& other) {
  at = std::max(at, other.at);
  drops.add(other.drops);
  worker.add(other.worker);
  rooms.add(other.rooms);
  site::add(lan_port, other.lan_port);
  site::add(wan_port, other.wan_port);
  site::add(lan, other.lan);
  site::add(wan, other.wan);
  impaired.insert(impaired.end(), other.impaired.begin(), other.impaired.end());
  peers.insert(peers.end(), other.peers.begin(), other.peers.end());
  lanes.insert(lanes.end(), other.lanes.begin(), other.lanes.end());
  sort();
  wants_policies |= other.wants_policies;
  is_quiet &= other.is_quiet;
  is_drained &= other.is_drained;
  shards.insert(shards.end(), other.shards.begin(), other.shards.end());
}

void SiteState::sort() {
  std::ranges::sort(peers, {},
                    [](const PeerView& each) { return std::tuple(each.peer, each.link); });
  std::ranges::sort(lanes, {}, [](const gateway::LaneView& each) {
    return std::tuple(each.peer, each.class_index);
  });
}

}  // namespace cw::site
