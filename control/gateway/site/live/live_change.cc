#include "control/gateway/site/live/live_change.h"

#include <algorithm>

#include "control/gateway/keys/config.h"
#include "control/gateway/site/shard_plan.h"
#include "dataplane/base/assert.h"

namespace cw::site {

Result<ShardChange> shard_change_of(const Plan& plan, const Plan& running, size_t shard,
                                    uint32_t lan_mtu, const UdpPort* wan) {
  auto gateway = gateway::GatewayChange::make(gateway_of(plan, shard, lan_mtu));
  if (!gateway) return std::unexpected(gateway.error());
  ShardChange change{.gateway = std::move(*gateway), .links = {}, .peers = {}, .impairment = {}};
  for (const sdr::LinkOptions& each : link_options_of(plan, shard)) {
    change.links.push_back(sdr::LinkChange::of(each));
  }
  if (plan.impair) change.impairment = plan.impair->tx;
  if (wan == nullptr) return change;
  auto peers = wan->table_of(wan_of(plan, shard), wan_of(running, shard));
  if (!peers) return failure("peer.address: " + peers.error().sentence);
  change.peers.emplace(std::move(*peers));
  return change;
}

LiveBounds LiveBounds::of(const Plan& plan) {
  LiveBounds bounds{.to_peer = plan.link_rate,
                    .of_wan = Rate::from_bps(plan.link_rate.bps() * plan.gateway.full_links),
                    .started = {},
                    .holds = {},
                    .streams = {},
                    .joined = {},
                    .impaired = {}};
  for (const sdr::LinkOptions& each : plan.peers) {
    bounds.started.push_back(each.control.is_vacant ? Rate() : each.pacer.rate);
  }
  for (const ClassPlan& each : plan.classes) {
    bounds.holds.push_back(each.hold);
    bounds.streams.push_back(each.stream);
  }
  if (is_over_frames(plan.lan_kind)) bounds.joined = plan.lan_over_frames.groups;
  if (plan.impair) bounds.impaired = plan.impair->held_packets_max;
  return bounds;
}

// ---- how far they go ----

static void check_rates(const LiveBounds& bounds, const Plan& next, std::vector<Beyond>& found) {
  std::string why;
  for (size_t i = 0; i < next.peers.size(); ++i) {
    if (next.peers[i].control.is_vacant) continue;
    const Rate rate = next.peers[i].pacer.rate, bound = std::max(bounds.to_peer, bounds.started[i]);
    if (rate <= bound) continue;
    why = "peer \"" + next.gateway.peers[i].name + "\" would be sent " + about(rate) +
          ", and memory is for " + about(bound) + " (pair.rate)";
  }
  uint64_t sum = 0, sum_started = 0;
  for (const sdr::LinkOptions& each : next.peers) {
    if (!each.control.is_vacant) sum += each.pacer.rate.bps();
  }
  for (const Rate each : bounds.started) sum_started += each.bps();
  if (why.empty() && sum > std::max(bounds.of_wan.bps(), sum_started)) {
    why = "all peers would be sent " + about(Rate::from_bps(sum)) + ", and memory is for " +
          about(bounds.of_wan) + " together";
  }
  if (why.empty()) return;
  // Each takes what the others leave.
  found.push_back({"wan.rate", why, /*goes_by_relink=*/true});
  for (const gateway::PeerRoutes& each : next.gateway.peers) {
    found.push_back({"peer." + each.name + ".rate", why, /*goes_by_relink=*/true});
  }
}

static void check_holds(const LiveBounds& bounds, const Plan& next, std::vector<Beyond>& found) {
  for (size_t i = 0; i < next.classes.size(); ++i) {
    if (next.classes[i].hold <= bounds.holds[i]) continue;
    const std::string why = "hold would be " + about(next.classes[i].hold) +
                            ", and memory is for " + about(bounds.holds[i]);
    for (const char* key : {".hold", ".host_timeout"}) {
      found.push_back({"class." + next.classes[i].name + key, why, /*goes_by_relink=*/true});
    }
  }
}

/// Whether messages as they are have room for what the class would send by.
static bool has_room(const sdr::StreamConfig& has, const sdr::StreamConfig& wants) {
  return wants.k <= has.k && wants.m_cap <= has.m_cap &&
         wants.data_slots_max <= has.data_slots_max &&
         wants.repair_slots_max <= has.repair_slots_max;
}

static void check_room(const LiveBounds& bounds, const Plan& next, std::vector<Beyond>& found) {
  for (size_t i = 0; i < next.classes.size(); ++i) {
    const ClassPlan& each = next.classes[i];
    if (has_room(bounds.streams[i], each.stream)) continue;
    const std::string why = "messages have no room for blocks of " + each.policy;
    for (const char* key : {".policy", ".params"}) {
      found.push_back({"class." + each.name + key, why, /*goes_by_relink=*/true});
    }
  }
}

static bool are_joined(const std::vector<HostAddress>& joined, const Plan& next) {
  return std::ranges::is_permutation(joined, next.lan_over_frames.groups);
}

std::vector<Beyond> beyond(const LiveBounds& bounds, const Plan& next) {
  std::vector<Beyond> found;
  check_rates(bounds, next, found);
  check_holds(bounds, next, found);
  check_room(bounds, next, found);
  if (bounds.joined && !are_joined(*bounds.joined, next)) {
    found.push_back({"group", "lan.port \"" + std::string(name_of(next.lan_kind)) +
                                  "\" has joined the groups of the start"});
  }
  if (next.impair && !bounds.impaired) {
    found.push_back({"wan.impair", "the gateway was started without [wan.impair]"});
  } else if (next.impair && next.impair->held_packets_max > *bounds.impaired) {
    found.push_back({"wan.impair", "more packets would be delayed than there is memory for (" +
                                       std::to_string(*bounds.impaired) + ")"});
  }
  return found;
}

// ---- in force ----

void keep_within(const LiveBounds& bounds, Plan& next) {
  for (size_t i = 0; i < next.classes.size(); ++i) {
    const Duration hold = std::min(next.classes[i].hold, bounds.holds[i]);
    next.classes[i].hold = next.gateway.classes[i].hold = hold;
    for (sdr::LinkOptions& each : next.peers) each.qps[i].send.hold = hold;
  }
}

// All else is alike in both.
void take_live(const Plan& next, Plan& running) {
  CW_ASSERT(next.peers.size() == running.peers.size());
  CW_ASSERT(next.classes.size() == running.classes.size());
  running.log_level = next.log_level;
  running.log_format = next.log_format;
  running.status_file = next.status_file;
  running.lan_routes = next.lan_routes;
  running.gateway = next.gateway;
  running.lan_over_frames.targets = next.lan_over_frames.targets;
  running.wan.peers = next.wan.peers;
  if (running.seal && next.seal) running.seal->peers = next.seal->peers;
  running.secrets = next.secrets;
  if (running.impair) running.impair->tx = next.impair ? next.impair->tx : Impairment();
  for (size_t i = 0; i < running.classes.size(); ++i) {
    running.classes[i].hold = next.classes[i].hold;
    running.classes[i].adapt = next.classes[i].adapt;
  }
  for (size_t i = 0; i < running.peers.size(); ++i) {
    sdr::LinkOptions& peer = running.peers[i];
    peer.control.peer_site = next.peers[i].control.peer_site;
    peer.control.peer_address = next.peers[i].control.peer_address;
    peer.control.is_vacant = next.peers[i].control.is_vacant;
    peer.pacer = next.peers[i].pacer;
    peer.rate_control = next.peers[i].rate_control;
    for (size_t qp = 0; qp < peer.qps.size(); ++qp) {
      peer.qps[qp].weight = next.peers[i].qps[qp].weight;
      peer.qps[qp].send.hold = next.peers[i].qps[qp].send.hold;
    }
  }
}

}  // namespace cw::site
