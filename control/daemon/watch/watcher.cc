#include "control/daemon/watch/watcher.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "control/gateway/plan.h"
#include "control/json/json.h"
#include "dataplane/base/assert.h"

namespace cw::daemon {
namespace {

using site::PeerView;
using site::SiteState;

/// A measured time may exceed the one in the file by so much before it is worth a word.
constexpr double rtt_slack = 1.25;

constexpr const char* too_small_meaning =
    "packets as long as pair.mtu are lost on it, short ones are not";
constexpr const char* too_small_advice =
    "find what has become smaller on the way, or lower pair.mtu at all sites";
constexpr const char* path_down_meaning =
    "questions on it find no answer while those on others do; data takes the others";
constexpr const char* path_down_advice =
    "find what has become of its way; it is asked twice a second, and used when it answers";
constexpr const char* began_anew_meaning =
    "the peer was started again, or its way was gone for a moment: what was on its way is over";
constexpr const char* too_big_meaning =
    "packets are lost here because the MTU of the WAN interface has become smaller than they are";
constexpr const char* too_big_advice =
    "raise the MTU of the interface again, or lower pair.mtu at all sites";

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
    : plan_(plan),
      log_(log),
      rnic_(log),
      wan_device_("wan", log),
      lan_device_("lan", log),
      peers_(plan.peers.size() * plan.links) {}

std::string Watcher::link_name(size_t index) const {
  const std::string& peer = plan_.gateway.peers[index / plan_.links].name;
  return plan_.links == 1 ? peer : peer + " link " + std::to_string(index % plan_.links);
}

/// Who it is about, and what.
Fields Watcher::about(size_t index, const Fields& more) const {
  Fields fields = {{"peer", plan_.gateway.peers[index / plan_.links].name}};
  if (plan_.links > 1) fields["link"] = index % plan_.links;
  fields.update(more);
  return fields;
}

void Watcher::look(const SiteState& state) {
  CW_ASSERT(state.peers.size() == peers_.size());
  for (size_t i = 0; i < state.peers.size(); ++i) {
    if (!plan_.has_peer(i / plan_.links)) {
      peers_[i] = {};
      continue;
    }
    look_at(i, state.peers[i], state.at);
    look_at_paths(i, state.peers[i]);
  }
  look_at_interface(state);
  if (state.wan_by_rnic) rnic_.look(*state.wan_by_rnic, state.at);
  if (state.wan_over_frames) wan_device_.look(state.wan_over_frames->device);
  if (state.lan_over_frames) lan_device_.look(state.lan_over_frames->device);
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
  if (!view.is_up) return tell_down(index, view, now);
  if (!peer.is_up) {
    peer = {.is_up = true, .was_up = true, .paths = {}, .why = {}, .told = {}};
    log_.info("up",
              about(index, {{"rtt_ms", rounded(view.rtt().ms())},
                            {"rate_mbps", rounded(static_cast<double>(view.rate.bps()) / 1e6)}}));
    for (const std::string& each : view.differences) {
      log_.warning("careful", about(index, {{"what", each}}));
    }
  } else if (view.epoch > peer.epoch) {
    log_.info("began_anew", about(index, {{"meaning", began_anew_meaning}}));
  }
  peer.epoch = view.epoch;
  if (std::exchange(peer.drains, view.is_drain_wanted) != view.is_drain_wanted) {
    log_.info(peer.drains ? "peer_drains" : "peer_drains_no_more", about(index, Fields::object()));
  }
  look_at_rtt(index, view);
}

void Watcher::look_at_rtt(size_t index, const PeerView& view) {
  Peer& peer = peers_[index];
  const Duration rtt = view.rtt_min();
  if (!peer.is_rtt_told && rtt > plan_.rtt.scaled(rtt_slack)) {
    peer.is_rtt_told = true;
    log_.info(
        "rtt_above_plan",
        about(index, {{"rtt_min_ms", rounded(rtt.ms())},
                      {"pair_rtt_ms", rounded(plan_.rtt.ms())},
                      {"advice",
                       "write it as pair.rtt at all sites: host_timeout is checked with that"}}));
  }
  if (!peer.is_rtt_max_told && rtt > plan_.rtt_max) {
    peer.is_rtt_max_told = true;
    log_.warning(
        "rtt_above_max",
        about(index, {{"rtt_min_ms", rounded(rtt.ms())},
                      {"pair_rtt_max_ms", rounded(plan_.rtt_max.ms())},
                      {"advice",
                       "raise pair.rtt_max, or pair.rtt where it follows from that, at all sites: "
                       "what is kept in memory goes by it"}}));
  }
}

Watcher::PathTrouble Watcher::trouble_of(const PeerView& view, size_t path) {
  // Of a link that is down it is not known any more, and "down" has been told.
  if (!view.is_up) return PathTrouble::None;
  if ((view.too_small_paths >> path & 1) != 0) return PathTrouble::TooSmall;
  return (view.down_paths >> path & 1) != 0 ? PathTrouble::Down : PathTrouble::None;
}

void Watcher::look_at_paths(size_t index, const PeerView& view) {
  for (size_t path = 0; path < view.paths.size(); ++path) {
    const PathTrouble after = trouble_of(view, path);
    const PathTrouble before = std::exchange(peers_[index].paths[path], after);
    if (view.is_up && before != after) tell_path(before, after, path, index);
  }
}

Watcher::TroubleWords Watcher::words_of(PathTrouble trouble) {
  if (trouble == PathTrouble::Down) return {"path_down", path_down_meaning, path_down_advice};
  return {"path_too_small", too_small_meaning, too_small_advice};
}

void Watcher::tell_path(PathTrouble before, PathTrouble after, size_t path, size_t index) {
  if (after == PathTrouble::None) {
    return log_.info(before == PathTrouble::TooSmall ? "path_fits" : "path_up",
                     about(index, {{"path", path}}));
  }
  const TroubleWords words = words_of(after);
  log_.warning(
      words.event,
      about(index, {{"path", path}, {"meaning", words.meaning}, {"advice", words.advice}}));
}

/// One line when the count begins to grow, one when it has not for a while.
void Watcher::look_at_interface(const SiteState& state) {
  const bool grows = state.wan.tx_too_big > too_big_count_;
  too_big_count_ = state.wan.tx_too_big;
  if (grows) too_big_at_ = state.at;
  if (grows && !is_too_big_) {
    is_too_big_ = true;
    log_.warning("too_big", {{"meaning", too_big_meaning}, {"advice", too_big_advice}});
  } else if (is_too_big_ && state.at - too_big_at_ >= summary_interval) {
    is_too_big_ = false;
    log_.info("too_big_no_more", {{"packets", too_big_count_}});
  }
}

std::vector<std::string> Watcher::alarms() const {
  std::vector<std::string> all = rnic_.alarms();
  for (const DeviceWatch* each : {&wan_device_, &lan_device_}) {
    for (std::string& alarm : each->alarms()) all.push_back(std::move(alarm));
  }
  for (size_t i = 0; i < peers_.size(); ++i) {
    for (size_t path = 0; path < limits::paths_max; ++path) {
      const PathTrouble trouble = peers_[i].paths[path];
      if (trouble == PathTrouble::None) continue;
      const TroubleWords words = words_of(trouble);
      all.push_back("path " + std::to_string(path) + " to " + link_name(i) + ": " + words.meaning +
                    "; " + words.advice);
    }
  }
  if (is_too_big_) all.push_back(std::string(too_big_meaning) + "; " + too_big_advice);
  return all;
}

void Watcher::tell_down(size_t index, const PeerView& view, Instant now) {
  Peer& peer = peers_[index];
  if (peer.is_up) {
    peer.is_up = false;
    peer.why = peer.told = view.why;
    peer.why_since = now;
    return log_.warning("down", about(index, {{"why", view.why}}));
  }
  if (view.why != peer.why) {
    peer.why = view.why;
    peer.why_since = now;
  }
  if (peer.why == peer.told || now - peer.why_since < why_patience) return;
  peer.told = peer.why;
  log_.warning("waiting", about(index, {{"why", peer.why}}));
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

/// Frames of several segments, which a LAN port over frames cannot take: a mistake that looks like
/// a very slow TCP.
void Watcher::tell_joined(const SiteState& state) {
  if (!state.lan_over_frames || !last_.lan_over_frames) return;
  const uint64_t joined = state.lan_over_frames->rx_joined - last_.lan_over_frames->rx_joined;
  if (joined == 0) return;
  log_.warning("joined", {{"frames", joined},
                          {"meaning", "hosts hand over several segments as one, which are lost"},
                          {"advice",
                           "ethtool -K: tso off gso off at a host behind a veth, gro off lro off "
                           "for " +
                               state.lan_over_frames->device.interface}});
}

}  // namespace cw::daemon
