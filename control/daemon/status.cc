#include "control/daemon/status.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <span>
#include <string_view>

#include "control/config/text/file.h"
#include "control/daemon/adapt/adaptive_json.h"
#include "control/daemon/status_seal.h"
#include "control/gateway/keys/prefix.h"
#include "control/gateway/plan.h"
#include "control/gateway/site/site_state.h"
#include "control/json/json.h"
#include "control/units/text.h"
#include "offload/crc32.h"

namespace cw::daemon {
namespace {

using site::PeerView;
using site::Plan;
using site::SiteState;

constexpr double million = 1e6;

double mbps(Rate rate) { return static_cast<double>(rate.bps()) / million; }

Json port_json(const PortCounters& port) {
  return {{"rx_packets", port.rx_packets}, {"rx_bytes", port.rx_bytes},
          {"tx_packets", port.tx_packets}, {"tx_bytes", port.tx_bytes},
          {"rx_dropped", port.rx_dropped}, {"rx_malformed", port.rx_malformed},
          {"tx_refused", port.tx_refused}, {"system_calls", port.system_calls}};
}

Json device_json(const FrameDeviceStatus& device) {
  Json refused = Json::object();
  for (const auto& [reason, count] : device.refused) refused[reason] = count;
  return {{"device", device.name},
          {"driver", device.driver},
          {"interface", device.interface},
          {"is_link_up", device.is_link_up},
          {"queues", device.queues},
          {"queues_max", device.queues_max},
          {"has_rss", device.has_rss},
          {"is_isolated", device.is_isolated},
          {"rules", device.rules},
          {"rules_why", device.rules_why},
          {"trouble", device.trouble},
          {"rx_of_queue", device.rx_of_queue},
          {"rx_missed", device.counters.rx_missed},
          {"rx_no_buffer", device.counters.rx_no_buffer},
          {"rx_errors", device.counters.rx_errors},
          {"tx_errors", device.counters.tx_errors},
          {"refused", refused}};
}

Json lan_over_frames_json(const FrameLanStatus& lan) {
  Json json = {{"neighbours", lan.neighbours},
               {"rx_not_ours", lan.rx_not_ours},
               {"rx_vlan", lan.rx_vlan},
               {"rx_group", lan.rx_group},
               {"rx_other", lan.rx_other},
               {"rx_neighbour", lan.rx_neighbour},
               {"rx_query", lan.rx_query},
               {"rx_local", lan.rx_local},
               {"rx_joined", lan.rx_joined},
               {"rx_finished", lan.rx_finished},
               {"echoes_answered", lan.echoes_answered},
               {"questions", lan.questions},
               {"reports", lan.reports},
               {"tx_link_down", lan.tx_link_down},
               {"tx_unresolved", lan.tx_unresolved},
               {"tx_unrouted", lan.tx_unrouted}};
  json.update(device_json(lan.device));
  return json;
}

Json lan_json(const SiteState& state) {
  if (state.lan_over_frames) {
    Json json = port_json(state.lan_port);
    json.update(lan_over_frames_json(*state.lan_over_frames));
    return json;
  }
  Json json = {{"device", state.lan.name}};
  json.update(port_json(state.lan_port));
  json.update({{"rx_joined", state.lan.rx_joined},
               {"rx_pieces", state.lan.rx_pieces},
               {"tx_joined", state.lan.tx_joined},
               {"tx_pieces", state.lan.tx_pieces},
               {"tx_lost", state.lan.tx_lost},
               {"device_errors", state.lan.device_errors}});
  return json;
}

Json wan_over_frames_json(const FrameWanStatus& wan) {
  Json json = {{"unresolved", wan.unresolved},     {"rx_other", wan.rx_other},
               {"rx_unknown", wan.rx_unknown},     {"tx_unrouted", wan.tx_unrouted},
               {"tx_link_down", wan.tx_link_down}, {"tx_unresolved", wan.tx_unresolved}};
  json.update(device_json(wan.device));
  return json;
}

Json wan_by_rnic_json(const VerbsPortStatus& wan) {
  return {{"device", wan.device},
          {"address", wan.address},
          {"port_up", wan.is_port_up},
          {"has_address", wan.has_address},
          {"trouble", wan.trouble},
          {"path_mtu", wan.path_mtu},
          {"epochs", wan.epochs},
          {"windows", wan.windows},
          {"windows_refused", wan.windows_refused},
          {"rx_unknown", wan.rx_unknown},
          {"rx_starved", wan.rx_starved},
          {"tx_unresolved", wan.tx_unresolved},
          {"send_posts", wan.send_posts},
          {"completions", wan.completions},
          {"tx_copied", wan.tx_copied},
          {"tx_lost", wan.tx_lost},
          {"queues_made", wan.queues_made},
          {"queues_broken", wan.queues_broken},
          {"queues_mended", wan.queues_mended},
          {"contacts_asked", wan.contacts_asked},
          {"contacts_answered", wan.contacts_answered},
          {"port_downs", wan.port_downs},
          {"address_changes", wan.address_changes},
          {"overruns", wan.overruns},
          {"fatal", wan.fatal}};
}

Json wan_json(const SiteState& state) {
  Json json = port_json(state.wan_port);
  json["payload_max"] = state.wan_payload_max;
  if (state.wan_over_frames) {
    json.update(wan_over_frames_json(*state.wan_over_frames));
    return json;
  }
  if (state.wan_by_rnic) {
    json.update(wan_by_rnic_json(*state.wan_by_rnic));
    return json;
  }
  json.update({{"rx_unknown", state.wan.rx_unknown},
               {"rx_truncated", state.wan.rx_truncated},
               {"tx_messages", state.wan.tx_messages},
               {"tx_unrouted", state.wan.tx_unrouted},
               {"tx_too_big", state.wan.tx_too_big},
               {"tx_lost", state.wan.tx_lost},
               {"tx_kept", state.wan.tx_kept},
               {"icmp_errors", state.wan.icmp_errors},
               {"socket_buffer_bytes", state.wan.rx_buffer_bytes}});
  return json;
}

Json impaired_json(const SiteState& state) {
  uint64_t packets = 0, lost = 0, copies = 0, corrupted = 0, marked = 0;
  for (const ImpairmentCounters& path : state.impaired) {
    packets += path.packets;
    lost += path.lost_total();
    copies += path.extra_copies;
    corrupted += path.corrupted;
    marked += path.marked;
  }
  return {{"packets", packets},
          {"lost", lost},
          {"copies", copies},
          {"corrupted", corrupted},
          {"marked", marked}};
}

/// `loss` and the counts are of what comes by it, `loss_there` is of what leaves.
Json path_json(const PeerView& peer, size_t index) {
  const PathState& path = peer.paths[index];
  const auto is_in = [&](uint32_t paths) { return (paths >> index & 1) != 0; };
  const Duration queue = std::max(path.rtt_smoothed - path.rtt_min, Duration());
  return {{"state", !peer.is_up                 ? "unknown"
                    : is_in(peer.down_paths)    ? "down"
                    : is_in(peer.probing_paths) ? "probing"
                                                : "up"},
          {"is_too_small", is_in(peer.too_small_paths)},
          {"rtt_ms", path.rtt_smoothed.ms()},
          {"rtt_min_ms", path.rtt_min.ms()},
          {"queue_ms", queue.ms()},
          {"loss_there", index < peer.path_losses.size() ? peer.path_losses[index] : 0},
          {"loss", path.loss.ratio},
          {"burst_packets", path.burst_packets_mean},
          {"arrived", path.arrived},
          {"lost", path.lost},
          {"reordered", path.reordered},
          {"late", path.late},
          {"duplicates", path.duplicates}};
}

Json summary_json(const PeerView& link) {
  Json json = {{"link", link.is_up ? "up" : "down"}};
  if (!link.is_up) json["why"] = link.why;
  json["drains"] = link.is_drain_wanted;
  json["rtt_ms"] = link.rtt().ms();
  json["rate_mbps"] = mbps(link.rate);
  json["backlog_ms"] = link.backlog.ms();
  return json;
}

Json link_json(const PeerView& link) {
  Json json = summary_json(link);
  for (size_t i = 0; i < link.paths.size(); ++i) json["paths"].push_back(path_json(link, i));
  return json;
}

/// The links of one peer as one: it is up when all of them are.
Json joined_json(std::span<const PeerView> links) {
  PeerView all{.is_up = true, .why = {}, .paths = {}};
  for (const PeerView& each : links) {
    if (all.is_up && !each.is_up) all.why = "link " + std::to_string(each.link) + ": " + each.why;
    all.is_up &= each.is_up;
    all.is_drain_wanted |= each.is_drain_wanted;
    all.paths.insert(all.paths.end(), each.paths.begin(), each.paths.end());
    all.rate = Rate::from_bps(all.rate.bps() + each.rate.bps());
    all.backlog = std::max(all.backlog, each.backlog);
  }
  Json json = summary_json(all);
  for (const PeerView& each : links) {
    Json of_link = {{"number", each.link}};
    of_link.update(link_json(each));
    json["links"].push_back(of_link);
  }
  return json;
}

Json peer_json(const gateway::PeerRoutes& known, const std::string& address,
               std::span<const PeerView> links) {
  Json json = {{"name", known.name}, {"address", address}};
  json.update(links.size() == 1 ? link_json(links.front()) : joined_json(links));
  return json;
}

Json peers_json(const Plan& plan, const SiteState& state) {
  Json json = Json::array();
  for (auto rest = std::span(state.peers); !rest.empty();) {
    const uint16_t peer = rest.front().peer;
    const auto end =
        std::ranges::find_if(rest, [peer](const PeerView& view) { return view.peer != peer; });
    const auto links = rest.first(static_cast<size_t>(end - rest.begin()));
    if (plan.has_peer(peer)) {
      Json row = peer_json(plan.gateway.peers[peer], plan.wan.peers[peer].address, links);
      if (!state.keys.empty()) row["keys"] = keys_json(state.keys[peer]);
      json.push_back(row);
    }
    rest = rest.subspan(links.size());
  }
  return json;
}

Json shards_json(const SiteState& state) {
  Json json = Json::array();
  for (const site::ShardView& each : state.shards) {
    Json shard = {{"from_lan", each.from_lan},
                  {"to_lan", each.to_lan},
                  {"from_wan", each.from_wan},
                  {"to_wan", each.to_wan},
                  {"turns", each.turns}};
    if (each.core) shard["core"] = *each.core;
    json.push_back(shard);
  }
  return json;
}

Json inbound_json(const gateway::InboundAccounts& in) {
  return {{"seen", in.seen},
          {"out", in.out},
          {"held", in.held},
          {"queued", in.queued},
          {"late", in.late()},
          {"duplicate", in.duplicate()},
          {"dropped", in.dropped.sum()},
          {"given_up", in.given_up},
          {"unheard_messages", in.unheard_messages},
          {"missed", in.missed_exactly + in.missed_by_time + in.missed_by_need}};
}

/// What of there was missing here, and what became of it; and what left.
Json slots_json(const sdr::HeardSlots& heard, const sdr::SentSlots& sent) {
  return {
      {"lost", heard.lost()},       {"by_code", heard.by_code},     {"by_resend", heard.by_resend},
      {"given_up", heard.given_up}, {"missing", heard.open},        {"needless", heard.needless},
      {"sent_data", sent.data},     {"sent_resends", sent.resends}, {"sent_repairs", sent.repairs}};
}

Json added_json(const AddedTimes& times) {
  return {{"p50_ms", times.p50.ms()}, {"p99_ms", times.p99.ms()}, {"p999_ms", times.p999.ms()}};
}

/// Both ways of one class with one peer; frames, unless the name says otherwise.
Json lane_json(const Plan& plan, std::span<const gateway::LaneView> links,
               const LatencyWatch* latency) {
  gateway::LaneView lane = links.front();
  for (const gateway::LaneView& other : links.subspan(1)) lane.add(other);
  const Added added = latency ? latency->added(lane) : Added();
  return {{"peer", plan.gateway.peers[lane.peer].name},
          {"class", plan.classes[lane.class_index].name},
          {"policy", {{"out", lane.policy_out}, {"in", lane.policy_in}}},
          {"sent", lane.sent},
          {"lost", lane.lost},
          {"waiting", lane.waiting},
          {"waiting_bytes", lane.waiting_bytes},
          {"waiting_bytes_max", lane.queue_bytes_max},
          {"received", inbound_json(lane.inbound)},
          {"slots", slots_json(lane.heard_slots, lane.sent_slots)},
          {"waits",
           {{"sending", added_json(added.sending)}, {"receiving", added_json(added.receiving)}}}};
}

/// What is on its way to the group's sites, once for each.
Json group_json(const gateway::Groups::Group& group) {
  const IpVersion version = group.is_v6 ? IpVersion::V6 : IpVersion::V4;
  return {{"address", text_of(HostAddress{group.address, version})},
          {"sites", group.sites.size()},
          {"frames", group.frames},
          {"bytes", group.bytes}};
}

std::string_view name_of(SwapStatus status) {
  constexpr std::string_view names[] = {
      "ready", "unknown policy", "wire version", "parameters", "beyond the reserve",
      "busy",  "not allowed",    "barred"};
  const auto index = static_cast<size_t>(status);
  return index < std::size(names) ? names[index] : "other";  // a peer may say anything
}

std::string_view name_of(site::GuardState state) {
  constexpr std::string_view names[] = {"none", "watching", "kept", "swapped back", "undecided"};
  return names[static_cast<size_t>(state)];
}

Json swap_json(const Plan& plan, const site::SwapView& swap) {
  constexpr const char* fates[] = {"waiting", "under way", "done", "not done"};
  Json json = {{"peer", plan.gateway.peers[swap.peer].name},
               {"class", plan.classes[swap.class_index].name},
               {"direction", swap.is_outward ? "out" : "in"},
               {"ordered_here", swap.is_ours},
               {"order", swap.order},
               {"policy", swap.policy},
               {"params", swap.params},
               {"fate", fates[static_cast<size_t>(swap.fate)]},
               {"status", name_of(swap.status)},
               {"refused_there", swap.is_refused_there},
               {"why", swap.why},
               {"ms", swap.ms},
               {"guard", name_of(swap.guard)},
               {"guard_says", swap.guard_says}};
  if (plan.links > 1) json["link"] = swap.link;
  return json;
}

Json counters_json(const SiteState& state) {
  Json json = Json::object();
  for (size_t i = 0; i < counter_count; ++i) {
    const auto counter = static_cast<Counter>(i);
    json[std::string(name_of(counter))] = state.worker[counter] + state.rooms[counter];
  }
  return json;
}

Json drops_json(const Drops::Snapshot& drops) {
  Json json = Json::object();
  for (size_t i = 0; i < drop_reason_count; ++i) {
    const auto reason = static_cast<DropReason>(i);
    if (drops[reason] == 0) continue;
    json[std::string(name_of(reason))] = {{"count", drops[reason]},
                                          {"sentence", sentence_of(reason)}};
  }
  return json;
}

/// Since the machine was started, as /proc/uptime counts.
double machine_uptime_s() {
  timespec up{};
  clock_gettime(CLOCK_BOOTTIME, &up);
  return std::round(static_cast<double>(up.tv_sec) * 100 + static_cast<double>(up.tv_nsec) / 1e7) /
         100;
}

/// Whose it is, and when it was written: by a clock that may be set, and by one that may not.
Json moment_json(const Plan& plan, const std::string& state) {
  return {{"site", plan.site}, {"version", CW_VERSION}, {"pid", getpid()},
          {"state", state},    {"written", utc_now()},  {"machine_uptime_s", machine_uptime_s()}};
}

}  // namespace

std::string utc_now() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return utc_text("%Y-%m-%dT%H:%M:%S", now.tv_sec) +
         text_of(".%03dZ", static_cast<int>(now.tv_nsec / 1'000'000));
}

Json status_at_start(const Plan& plan) { return moment_json(plan, "starting"); }

Json status_of(const Plan& plan, const SiteState& state, const ProcessView& process) {
  Json json = moment_json(plan, process.state);
  if (!process.stuck_since.empty()) json["stuck_since"] = process.stuck_since;
  json.update({{"uptime_s", process.uptime_s},
               {"cpu", process.cpu},
               {"drain", {{"is_wanted", process.is_drain_wanted}, {"quiet_s", process.quiet_s}}},
               {"lan", lan_json(state)},
               {"wan", wan_json(state)},
               {"seal", seal_json(plan, state)}});
  json["alarms"] = process.alarms;
  if (!state.impaired.empty()) json["impair"] = impaired_json(state);
  json["peers"] = peers_json(plan, state);
  json["classes"] = Json::array();
  // The lanes of a class and peer lie in a row, one for each link.
  for (size_t i = 0; i < state.lanes.size(); i += plan.links) {
    if (!plan.has_peer(state.lanes[i].peer)) continue;
    json["classes"].push_back(
        lane_json(plan, std::span(state.lanes).subspan(i, plan.links), process.latency));
  }
  json["groups"] = Json::array();
  for (const auto& each : state.groups) json["groups"].push_back(group_json(each));
  json["swaps"] = Json::array();
  for (const site::SwapView& each : state.swaps) json["swaps"].push_back(swap_json(plan, each));
  json["adaptive"] = adaptive_json(plan, process.adaptive, state.at);
  if (state.shards.size() > 1) json["shards"] = shards_json(state);
  json["counters"] = counters_json(state);
  json["drops"] = drops_json(state.drops);
  return json;
}

Json plan_json(const Plan& plan) {
  Json json = {{"site", plan.site},
               {"memory_bytes", plan.memory.count()},
               {"idle_links_memory_bytes", plan.idle_links_memory.count()},
               {"payload_bytes", plan.wan.payload_bytes_max},
               {"crc32", cw_crc32_name()},
               {"links", plan.links},
               {"classes", Json::array()},
               {"peers", Json::array()}};
  for (const auto& core : plan.cores) {
    if (core) json["cores"].push_back(*core);
  }
  for (const site::ClassPlan& each : plan.classes) {
    Json policies = {each.policy};
    for (const site::OtherPolicy& other : each.others) policies.push_back(other.ops->name);
    json["classes"].push_back({{"name", each.name},
                               {"policy", each.policy},
                               {"policies", policies},
                               {"adapts", each.adapt.has_value()},
                               {"hold_ms", each.hold.ms()},
                               {"recovery_worst_ms", each.recovery_worst.ms()},
                               {"messages", each.stream.messages},
                               {"message_bytes", each.stream.message_bytes_max()}});
  }
  for (size_t i = 0; i < plan.peers.size(); ++i) {
    if (!plan.has_peer(i)) continue;
    Json routes = Json::array();
    for (const auto& route : plan.gateway.peers[i].routes) {
      routes.push_back(site::prefix_text(route));
    }
    json["peers"].push_back({{"name", plan.gateway.peers[i].name},
                             {"address", plan.wan.peers[i].address},
                             {"rate_mbps", mbps(plan.peers[i].pacer.rate)},
                             {"prefer", plan.gateway.peers[i].prefer},
                             {"routes", routes}});
  }
  json["warnings"] = plan.warnings;
  return json;
}

Result<bool> try_write_atomically(const std::string& path, const std::string& text) {
  const auto written = config::replace_file(path, text, config::Lasting::No);
  if (written) return true;
  const auto [error, is_replacing] = written.error();
  if (error == ENOSPC || error == EDQUOT) return false;
  const std::string what =
      is_replacing ? "cannot replace " + path : "cannot write " + config::draft_of(path);
  return failure("site.status: " + what + ": " + std::strerror(error));
}

}  // namespace cw::daemon
