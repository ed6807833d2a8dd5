#include "control/daemon/metrics/metrics.h"

#include <algorithm>
#include <map>
#include <span>

#include "control/daemon/metrics/families.h"

namespace cw::daemon {
namespace {

using site::PeerView;
using site::Plan;
using site::SiteState;

constexpr double bits_per_byte = 8;

std::string number(size_t value) { return std::to_string(value); }

// ---- the process --------------------------------------------------------------------------------

void add_process(const Plan& plan, const SiteState& state, const ProcessView& process,
                 Families& to) {
  to.gauge("info", "which site and version this is", {{"site", plan.site}, {"version", CW_VERSION}},
           1);
  to.gauge("uptime_seconds", "since the process began", {}, process.uptime_s);
  to.gauge("packets_cores", "processors that the packets' threads keep busy", {}, process.cpu);
  to.gauge("worker_stuck", "1 while a packets' thread does not turn", {},
           process.stuck_since.empty() ? 0 : 1);
  to.gauge("alarms", "what is wrong now and takes a person", {}, double(process.alarms.size()));
  to.gauge("draining", "1 while peers are asked to send by another gateway", {},
           process.is_drain_wanted ? 1 : 0);
  for (size_t i = 0; i < counter_count; ++i) {
    const auto counter = static_cast<Counter>(i);
    if (counter == Counter::time_gap_us) continue;  // told in seconds, as all times are
    to.count("worker_" + std::string(name_of(counter)) + "_total",
             std::string(sentence_of(counter)), {},
             double(state.worker[counter] + state.rooms[counter]));
  }
  to.count("worker_time_gap_seconds_total", "how long such pauses were, together", {},
           double(state.worker[Counter::time_gap_us]) * 1e-6);
  for (size_t i = 0; i < drop_reason_count; ++i) {
    const auto reason = static_cast<DropReason>(i);
    to.count("dropped_total", "packets and frames that went no further, by why",
             {{"reason", std::string(name_of(reason))}}, double(state.drops[reason]));
  }
}

void add_port(const char* side, const PortCounters& port, Families& to) {
  const auto way = [&](const char* name) { return Labels{{"port", side}, {"way", name}}; };
  const Labels one = {{"port", side}};
  to.count("port_packets_total", "packets at a port", way("rx"), double(port.rx_packets));
  to.count("port_packets_total", "", way("tx"), double(port.tx_packets));
  to.count("port_bytes_total", "bytes of these", way("rx"), double(port.rx_bytes));
  to.count("port_bytes_total", "", way("tx"), double(port.tx_bytes));
  to.count("port_dropped_total", "packets that a port had no room for", one,
           double(port.rx_dropped));
  to.count("port_malformed_total", "packets that are not what they say", one,
           double(port.rx_malformed));
  to.count("port_refused_total", "packets that a port would not send", one,
           double(port.tx_refused));
  to.count("port_system_calls_total", "calls of the kernel for packets", one,
           double(port.system_calls));
}

void add_times(const std::string& name, const std::string& sentence, const Labels& labels,
               const OctaveTimes& times, Families& to) {
  std::vector<double> bounds;
  for (size_t i = 0; i + 1 < OctaveTimes::steps; ++i) {
    bounds.push_back(OctaveTimes::below(i).seconds());
  }
  to.histogram(name, sentence, labels, bounds, {times.counts.begin(), times.counts.end()},
               double(times.sum_ns) * 1e-9);
}

// ---- lines --------------------------------------------------------------------------------------

Labels of_link(const Plan& plan, const PeerView& link) {
  return {{"peer", plan.gateway.peers[link.peer].name}, {"link", number(link.link)}};
}

void add_link(const Plan& plan, const PeerView& link, Families& to) {
  const Labels labels = of_link(plan, link);
  to.gauge("link_up", "1 while an epoch is in force", labels, link.is_up ? 1 : 0);
  to.gauge("link_rate_bytes_per_second", "what it is sent at most, as of now", labels,
           double(link.rate.bps()) / bits_per_byte);
  to.gauge("link_backlog_seconds", "what waits for the pacer", labels, link.backlog.seconds());
  to.count("link_arrived_there_total", "packets sent that the peer has, by its word", labels,
           double(link.there.arrived));
  to.count("link_lost_there_total", "packets sent that the peer misses, before any repair", labels,
           double(link.there.lost));
  to.count("link_bursts_there_total", "unbroken runs that these came in", labels,
           double(link.there.bursts));
}

/// Counts of a path, or of several.
struct PathCounts {
  void add(const PathState& path) {
    arrived += path.arrived;
    lost += path.lost;
    reordered += path.reordered;
    late += path.late;
    duplicates += path.duplicates;
    for (size_t i = 0; i < bursts.size(); ++i) bursts[i] += path.bursts_by_octave[i];
  }
  uint64_t arrived = 0, lost = 0, reordered = 0, late = 0, duplicates = 0;
  std::array<uint64_t, PathState::burst_octaves> bursts{};
};

void add_path_counts(const PathCounts& counts, const Labels& labels, Families& to) {
  to.count("path_arrived_total", "packets that came by it", labels, double(counts.arrived));
  to.count("path_lost_total", "packets that did not, before any repair", labels,
           double(counts.lost));
  to.count("path_reordered_total", "packets that came behind later ones, in time", labels,
           double(counts.reordered));
  to.count("path_late_total", "packets that came after they had counted as lost", labels,
           double(counts.late));
  to.count("path_duplicates_total", "packets that came again", labels, double(counts.duplicates));
  std::vector<double> bounds;
  for (size_t i = 0; i + 1 < counts.bursts.size(); ++i) bounds.push_back(double(1u << i));
  to.histogram("path_burst_packets", "how many packets were lost in a row", labels, bounds,
               {counts.bursts.begin(), counts.bursts.end()}, double(counts.lost));
}

void add_path(const PeerView& link, size_t number_of_path, Labels labels, Families& to) {
  const PathState& path = link.paths[number_of_path];
  labels.emplace_back("path", number(number_of_path));
  const bool is_up = link.is_up && (link.down_paths >> number_of_path & 1) == 0 &&
                     (link.probing_paths >> number_of_path & 1) == 0;
  to.gauge("path_up", "1 while data may take it", labels, is_up ? 1 : 0);
  to.gauge("path_rtt_seconds", "its round trip, smoothed", labels, path.rtt_smoothed.seconds());
  to.gauge("path_rtt_min_seconds", "its shortest round trip of the last 10 to 20 seconds", labels,
           path.rtt_min.seconds());
  to.gauge("path_queue_seconds", "by how much the one exceeds the other", labels,
           std::max(0.0, (path.rtt_smoothed - path.rtt_min).seconds()));
  PathCounts counts;
  counts.add(path);
  add_path_counts(counts, labels, to);
}

/// By path, or by peer, or of all, as there is room for.
void add_paths(const Plan& plan, const SiteState& state, Families& to) {
  size_t paths = 0;
  for (const PeerView& link : state.peers) paths += link.paths.size();
  const bool is_each = paths <= paths_max, is_by_peer = plan.peer_count() <= paths_max;
  std::map<std::string, PathCounts> sums;
  for (const PeerView& link : state.peers) {
    if (!plan.has_peer(link.peer)) continue;
    for (size_t i = 0; i < link.paths.size(); ++i) {
      if (is_each) add_path(link, i, of_link(plan, link), to);
      if (!is_each) sums[is_by_peer ? plan.gateway.peers[link.peer].name : ""].add(link.paths[i]);
    }
  }
  for (const auto& [peer, counts] : sums) {
    add_path_counts(counts, peer.empty() ? Labels{} : Labels{{"peer", peer}}, to);
  }
}

void add_lines(const Plan& plan, const SiteState& state, Families& to) {
  const bool is_each = state.peers.size() <= paths_max;
  size_t up = 0, links = 0;
  for (const PeerView& link : state.peers) {
    if (!plan.has_peer(link.peer)) continue;
    ++links;
    up += link.is_up ? 1 : 0;
    if (is_each) add_link(plan, link, to);
  }
  to.gauge("links", "links to all peers", {}, double(links));
  to.gauge("links_up", "those of them that are up", {}, double(up));
  add_paths(plan, state, to);
}

// ---- classes ------------------------------------------------------------------------------------

void add_frames(const gateway::LaneView& lane, const Labels& labels, Families& to) {
  const gateway::InboundAccounts& in = lane.inbound;
  to.count("frames_sent_total", "frames of hosts given to the line, whole", labels,
           double(lane.sent));
  to.count("frames_received_total", "frames from there that the hosts were given", labels,
           double(in.out));
  to.count("frames_given_up_total", "frames from there that never came", labels,
           double(in.given_up));
  to.count("frames_late_total", "frames from there that came when those behind them were out",
           labels, in.late());
  to.count("frames_duplicate_total", "frames from there that came again", labels, in.duplicate());
  to.gauge("frames_waiting", "frames that the line has not taken yet", labels,
           double(lane.waiting));
  to.gauge("frames_waiting_bytes", "bytes that wait for the line", labels,
           double(lane.waiting_bytes));
  to.gauge("frames_held", "frames from there that wait for others", labels, double(in.held));
  to.gauge("frames_queued", "frames from there that wait for the hosts' port", labels,
           double(in.queued));
}

/// What was lost, and whether the policy helped: lost = mended + given up + missing.
void add_slots(const gateway::LaneView& lane, const Labels& labels, Families& to) {
  const auto with = [&](const char* label, const char* value) {
    Labels more = labels;
    more.emplace_back(label, value);
    return more;
  };
  const sdr::SentSlots& sent = lane.sent_slots;
  const sdr::HeardSlots& heard = lane.heard_slots;
  to.count("slots_sent_total", "slots that left, by kind", with("kind", "data"), double(sent.data));
  to.count("slots_sent_total", "", with("kind", "resend"), double(sent.resends));
  to.count("slots_sent_total", "", with("kind", "repair"), double(sent.repairs));
  to.count("slots_abandoned_total", "slots to there given up: older than hold", labels,
           double(sent.abandoned));
  to.count("slots_lost_total", "slots from there that were missing", labels, heard.lost());
  to.count("slots_mended_total", "of these, what is there now, by what", with("by", "code"),
           double(heard.by_code));
  to.count("slots_mended_total", "", with("by", "resend"), double(heard.by_resend));
  to.count("slots_given_up_total", "of these, what nobody waits for any more", labels,
           double(heard.given_up));
  to.gauge("slots_missing", "of these, what is waited for now", labels, double(heard.open));
  to.count("slots_needless_total", "slots from there that were there already", labels,
           double(heard.needless));
}

/// Histograms are of classes alone: they have many values each.
struct ClassTimes {
  OctaveTimes waits;
  HoleTimes holds;
};

void add_class_times(const std::string& name, const ClassTimes& times, Families& to) {
  const Labels labels = {{"class", name}};
  add_times("slot_wait_seconds", "from when a slot's frames were here until it left", labels,
            times.waits, to);
  std::vector<double> bounds;
  for (size_t i = 0; i + 1 < HoleTimes::steps; ++i) {
    bounds.push_back(HoleTimes::below(i).seconds());
  }
  // A step's middle, as times are kept by steps alone.
  double sum = 0;
  for (size_t i = 0; i < HoleTimes::steps; ++i) {
    sum += times.holds.counts[i] * HoleTimes::middle(i).seconds();
  }
  to.histogram("frame_hold_seconds", "how long frames from there waited for others, those that did",
               labels, bounds, {times.holds.counts.begin(), times.holds.counts.end()}, sum);
}

void add_classes(const Plan& plan, const SiteState& state, Families& to) {
  std::map<std::pair<uint16_t, uint16_t>, gateway::LaneView> lanes;  // by class and peer
  const size_t count = plan.peer_count() * plan.classes.size();
  std::map<uint16_t, ClassTimes> times;
  for (const gateway::LaneView& each : state.lanes) {
    if (!plan.has_peer(each.peer)) continue;
    const uint16_t peer = count <= lanes_max ? each.peer : uint16_t{0};
    const auto [lane, is_new] = lanes.try_emplace({each.class_index, peer}, each);
    if (!is_new) lane->second.add(each);
    times[each.class_index].waits.add(each.sent_slots.waits);
    times[each.class_index].holds.add(each.holds);
  }
  for (const auto& [key, lane] : lanes) {
    Labels labels = {{"class", plan.classes[key.first].name}};
    if (count <= lanes_max) labels.emplace_back("peer", plan.gateway.peers[key.second].name);
    add_frames(lane, labels, to);
    add_slots(lane, labels, to);
    if (count > lanes_max) continue;
    for (const auto& [way, policy] :
         {std::pair("out", lane.policy_out), std::pair("in", lane.policy_in)}) {
      Labels info = labels;
      info.emplace_back("way", way);
      info.emplace_back("policy", policy);
      to.gauge("policy_info", "which policy decides about what is new", info, 1);
    }
  }
  for (const auto& [index, its] : times) add_class_times(plan.classes[index].name, its, to);
}

// ---- the rest -----------------------------------------------------------------------------------

void add_seals(const Plan& plan, const SiteState& state, Families& to) {
  to.gauge("sealed", "1 where what crosses is sealed", {}, plan.seal ? 1 : 0);
  if (!plan.seal) return;
  to.count("seal_packets_total", "packets sealed, opened, and not sent for want of keys",
           {{"kind", "sealed"}}, double(state.seals.sealed));
  to.count("seal_packets_total", "", {{"kind", "opened"}}, double(state.seals.opened));
  to.count("seal_packets_total", "", {{"kind", "unsent"}}, double(state.seals.unsent));
  if (plan.peer_count() > paths_max) return;
  for (size_t i = 0; i < state.keys.size(); ++i) {
    if (!plan.has_peer(i)) continue;
    const Labels labels = {{"peer", plan.gateway.peers[i].name}};
    to.gauge("keys", "1 while there are keys for this peer", labels,
             state.keys[i].has_keys ? 1 : 0);
    to.gauge("key_age_seconds", "since they were agreed on", labels, state.keys[i].age.seconds());
  }
}

void add_adaptive(const Plan& plan, const ProcessView& process, Families& to) {
  if (process.adaptive.size() > lanes_max) return;
  for (const site::AdaptView& each : process.adaptive) {
    const Labels labels = {{"class", plan.classes[each.place.class_index].name},
                           {"peer", plan.gateway.peers[each.place.peer].name}};
    const auto decided = [&](const char* kind, uint64_t value) {
      Labels more = labels;
      more.emplace_back("kind", kind);
      to.count("adaptive_decisions_total", "changes that a class that adapts has decided on", more,
               double(value));
    };
    decided("raised", each.raised);
    decided("lowered", each.lowered);
    decided("refused", each.refused);
    to.gauge("adaptive_loss_ratio", "what the line loses since it last changed", labels,
             each.facts.loss.share.ratio);
  }
}

void add_workers(const SiteState& state, Families& to) {
  for (size_t i = 0; i < state.shards.size(); ++i) {
    add_times("turn_seconds", "from one turn that had work to the next", {{"worker", number(i)}},
              state.shards[i].turn_times, to);
  }
}

}  // namespace

std::string metrics_of(const Plan& plan, const SiteState& state, const ProcessView& process) {
  Families families;
  add_process(plan, state, process, families);
  add_port("lan", state.lan_port, families);
  add_port("wan", state.wan_port, families);
  add_workers(state, families);
  add_lines(plan, state, families);
  add_classes(plan, state, families);
  add_seals(plan, state, families);
  add_adaptive(plan, process, families);
  return families.text();
}

}  // namespace cw::daemon
