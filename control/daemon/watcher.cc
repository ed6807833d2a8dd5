#include "control/daemon/watcher.h"

#include <algorithm>
#include <cmath>

#include "dataplane/base/assert.h"

namespace cw::daemon {
namespace {

using site::PeerView;
using site::SiteState;

/// A measured time may exceed the one in the file by so much before it is worth a word.
constexpr double rtt_slack = 1.25;

double rounded(double value) { return std::round(value * 100) / 100; }

double mbps(uint64_t bytes, Duration time) {
  return rounded(static_cast<double>(bytes) * 8 / time.us());
}

/// Packets of all peers that did not arrive.
uint64_t lost_of(const SiteState& state) {
  uint64_t lost = 0;
  for (const PeerView& peer : state.peers) {
    for (const PathState& path : peer.paths) lost += path.lost;
  }
  return lost;
}

}  // namespace

Watcher::Watcher(const site::Plan& plan, const Log& log)
    : plan_(plan), log_(log), peers_(plan.peers.size()) {}

void Watcher::look(const SiteState& state) {
  CW_ASSERT(state.peers.size() == peers_.size());
  for (size_t i = 0; i < state.peers.size(); ++i) look_at(i, state.peers[i], state.at);
  if (!has_last_) {
    has_last_ = true;
    last_ = state;
    return;
  }
  if (state.at - last_.at < summary_interval) return;
  summarize(state);
  last_ = state;
}

void Watcher::look_at(size_t index, const PeerView& view, Instant now) {
  Peer& peer = peers_[index];
  const std::string& name = plan_.gateway.peers[index].name;
  if (!view.is_up) return tell_down(peer, name, view, now);
  if (!peer.is_up) {
    peer = {.is_up = true, .was_up = true, .why = {}, .told = {}};
    log_.info("up", {{"peer", name},
                     {"rtt_ms", rounded(view.rtt().ms())},
                     {"rate_mbps", rounded(static_cast<double>(view.rate.bps()) / 1e6)}});
  }
  if (!peer.is_rtt_told && view.rtt_min() > plan_.rtt.scaled(rtt_slack)) {
    peer.is_rtt_told = true;
    log_.warning("rtt_above_plan", {{"peer", name},
                                    {"rtt_min_ms", rounded(view.rtt_min().ms())},
                                    {"pair_rtt_ms", rounded(plan_.rtt.ms())},
                                    {"advice",
                                     "raise pair.rtt at all sites: hold and memory "
                                     "follow from it"}});
  }
}

void Watcher::tell_down(Peer& peer, const std::string& name, const PeerView& view, Instant now) {
  if (peer.is_up) {
    peer.is_up = false;
    peer.why = peer.told = view.why;
    peer.why_since = now;
    return log_.warning("down", {{"peer", name}, {"why", view.why}});
  }
  if (view.why != peer.why) {
    peer.why = view.why;
    peer.why_since = now;
  }
  if (peer.why == peer.told || now - peer.why_since < why_patience) return;
  peer.told = peer.why;
  log_.warning("waiting", {{"peer", name}, {"why", peer.why}});
}

void Watcher::summarize(const SiteState& state) {
  const Duration time = state.at - last_.at;
  const auto since = [](uint64_t now, uint64_t before) { return now - before; };
  const Drops::Snapshot drops = state.drops.since(last_.drops);
  const auto counted = [&](Counter counter) {
    return since(state.rooms[counter], last_.rooms[counter]);
  };
  const uint64_t from_lan = since(state.lan_port.rx_packets, last_.lan_port.rx_packets);
  const uint64_t to_lan = since(state.lan_port.tx_packets, last_.lan_port.tx_packets);
  if (from_lan + to_lan > 0) {
    log_.info(
        "traffic",
        {{"from_hosts", from_lan},
         {"from_hosts_mbps", mbps(since(state.lan_port.rx_bytes, last_.lan_port.rx_bytes), time)},
         {"to_hosts", to_lan},
         {"to_hosts_mbps", mbps(since(state.lan_port.tx_bytes, last_.lan_port.tx_bytes), time)},
         {"sent_again", counted(Counter::resends_sent) + counted(Counter::repairs_sent)},
         {"lost_on_the_way_here", since(lost_of(state), lost_of(last_))}});
  }
  Fields dropped = Fields::object();
  for (size_t i = 0; i < drop_reason_count; ++i) {
    const auto reason = static_cast<DropReason>(i);
    if (drops[reason] > 0) dropped[std::string(name_of(reason))] = drops[reason];
  }
  if (!dropped.empty()) log_.info("dropped", dropped);
  if (counted(Counter::policies_quarantined) > 0) {
    log_.error("policy_quarantined", {{"count", counted(Counter::policies_quarantined)}});
  }
  tell_joined(state);
  // Pauses of milliseconds are a busy machine's everyday life.
  constexpr uint64_t worth_telling_ms = 100;
  const auto told = [&](Counter counter) {
    return since(state.worker[counter], last_.worker[counter]);
  };
  const uint64_t paused_ms = told(Counter::time_gap_us) / 1000;
  if (paused_ms < worth_telling_ms) return;
  log_.warning("paused", {{"times", told(Counter::time_gaps)},
                          {"ms", paused_ms},
                          {"meaning", "this machine stood still"}});
}

/// Frames of several segments, which a LAN over DPDK cannot take: a mistake that looks like a very
/// slow TCP.
void Watcher::tell_joined(const SiteState& state) {
  if (!state.lan_over_dpdk || !last_.lan_over_dpdk) return;
  const uint64_t joined = state.lan_over_dpdk->rx_joined - last_.lan_over_dpdk->rx_joined;
  if (joined == 0) return;
  log_.warning("joined", {{"frames", joined},
                          {"meaning", "hosts hand over several segments as one, which are lost"},
                          {"advice",
                           "ethtool -K: tso off gso off at a host behind a veth, gro off lro off "
                           "for " +
                               state.lan_over_dpdk->device.interface}});
}

}  // namespace cw::daemon
