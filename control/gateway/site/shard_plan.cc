#include "control/gateway/site/shard_plan.h"

#include <span>

#include "dataplane/base/shards.h"

namespace cw::site {

std::vector<uint16_t> links_in(const Plan& plan, size_t shard) {
  std::vector<uint16_t> links;
  for (uint16_t link = 0; link < plan.links; ++link) {
    if (shard_of_link(link, plan.cores.size()) == shard) links.push_back(link);
  }
  return links;
}

/// Each link that a peer has there, as a peer of its own.
template <class Peer>
static std::vector<Peer> by_link(const std::vector<Peer>& peers, std::span<const uint16_t> links) {
  std::vector<Peer> all;
  for (const Peer& each : peers) {
    for (const uint16_t link : links) {
      all.push_back(each);
      all.back().link = link;
    }
  }
  return all;
}

TunPortOptions lan_of(const Plan& plan, size_t shard) {
  TunPortOptions options = plan.lan;
  options.device.multi_queue = plan.cores.size() > 1;
  options.device.queue = shard;
  options.device.queues = plan.cores.size();
  return options;
}

UdpPortOptions wan_of(const Plan& plan, size_t shard) {
  UdpPortOptions options = plan.wan;
  options.shard = static_cast<uint16_t>(shard);
  options.shards = static_cast<uint16_t>(plan.cores.size());
  options.peers = by_link(plan.wan.peers, links_in(plan, shard));
  return options;
}

FrameLanOptions lan_over_frames_of(const Plan& plan) {
  FrameLanOptions options = plan.lan_over_frames;
  options.shards = static_cast<uint16_t>(plan.cores.size());
  return options;
}

FrameWanOptions wan_over_frames_of(const Plan& plan, size_t shard) {
  FrameWanOptions options = plan.wan_over_frames;
  options.shards = static_cast<uint16_t>(plan.cores.size());
  options.peers = by_link(plan.wan_over_frames.peers, links_in(plan, shard));
  for (uint16_t other = 0; other < options.shards; ++other) {
    if (other == shard) continue;
    for (const auto& peer : by_link(plan.wan_over_frames.peers, links_in(plan, other))) {
      options.elsewhere.push_back({.address = peer.address,
                                   .udp_port = peer.udp_port,
                                   .link = peer.link,
                                   .shard = other,
                                   .source_port = peer.source_port});
    }
  }
  return options;
}

VerbsPortOptions wan_by_rnic_of(const Plan& plan, size_t shard) {
  VerbsPortOptions options = plan.wan_by_rnic;
  options.peers = by_link(plan.wan_by_rnic.peers, links_in(plan, shard));
  return options;
}

gateway::GatewayOptions gateway_of(const Plan& plan, size_t shard, uint32_t lan_mtu) {
  gateway::GatewayOptions options = plan.gateway;
  options.lan_mtu = lan_mtu;
  const auto links = static_cast<uint16_t>(links_in(plan, shard).size());
  for (gateway::PeerRoutes& each : options.peers) {
    each.peer = static_cast<uint16_t>(each.peer * links);
    each.links = links;
  }
  return options;
}

std::vector<sdr::LinkOptions> link_options_of(const Plan& plan, size_t shard) {
  std::vector<sdr::LinkOptions> all;
  for (const sdr::LinkOptions& each : plan.peers) {
    for (const uint16_t link : links_in(plan, shard)) {
      sdr::LinkOptions& options = all.emplace_back(each);
      options.peer = static_cast<uint16_t>(all.size() - 1);
      options.control.number = link;
    }
  }
  return all;
}

ImpairedPortOptions impair_of(const Plan& plan, size_t shard) {
  ImpairedPortOptions options = *plan.impair;
  options.seed += shard;
  return options;
}

}  // namespace cw::site
